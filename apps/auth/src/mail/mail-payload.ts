import type { Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import type { MailKind, MailVariables, NoticeKind } from './kinds.js'

/** The outbox kind of emails. */
export const EMAIL = 'email'

/** An email in the outbox. */
export type MailPayload = {
  mail: MailKind | NoticeKind
  to: string
  variables: MailVariables
}

/** What has to be undone if an email is never delivered. */
export type MailUndo = {
  mail: MailPayload['mail']
  /** The tokens in the email, which are withdrawn. */
  secrets: readonly Withdrawable[]
  /** The sign-up that ends, just as a sign-up does whose confirmation is not delivered. */
  signUpId?: string
}
