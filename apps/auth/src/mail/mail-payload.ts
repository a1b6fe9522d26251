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

/** What depends on an email. */
export type MailUndo = {
  mail: MailPayload['mail']
  /** The tokens in the email; withdrawn if it is never delivered. */
  secrets: readonly Withdrawable[]
  /** A sign-up that ends if this email is never delivered, like a sign-up whose confirmation is not delivered. */
  signUpId?: string
}
