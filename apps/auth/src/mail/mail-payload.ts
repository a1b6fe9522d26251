import { type Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import { type MailKind, type MailVariables, type NoticeKind } from './kinds.js'

/** The outbox's kind of an email. */
export const EMAIL = 'email'

/** An email in the outbox. */
export type MailPayload = {
  mail: MailKind | NoticeKind
  to: string
  variables: MailVariables
  /** What the email was to bring; taken back when it never arrives. */
  secrets: readonly Withdrawable[]
}
