/** Emails that carry a secret (docs/specification.md#emails). */
export const mailKinds = [
  'invite',
  'confirmation',
  'recovery',
  'magic_link',
  'email_change',
  'reauthentication',
] as const
export type MailKind = (typeof mailKinds)[number]

/** Notices of something that happened; each can be switched off, and none ever fails a request. */
export const noticeKinds = [
  'account_exists_notification',
  'password_changed_notification',
  'email_changed_notification',
  'phone_changed_notification',
  'identity_linked_notification',
  'identity_unlinked_notification',
  'mfa_factor_enrolled_notification',
  'mfa_factor_unenrolled_notification',
  'mfa_recovery_codes_created_notification',
  'mfa_recovery_code_used_notification',
  'account_deletion_requested_notification',
  'account_deleted_notification',
] as const
export type NoticeKind = (typeof noticeKinds)[number]

/** The variables that templates may print. The mailer adds `SiteURL`. Unset variables print nothing. */
export type MailVariables = {
  /** The account's address. The email does not always go there. */
  email?: string | undefined
  confirmationUrl?: string | undefined
  /** The page on which to reset the password. */
  recoveryUrl?: string | undefined
  /** The code to type in. */
  token?: string | undefined
  /** The secret inside the link. */
  tokenHash?: string | undefined
  redirectTo?: string | undefined
  newEmail?: string | undefined
  oldEmail?: string | undefined
  sendingTo?: string | undefined
  phone?: string | undefined
  oldPhone?: string | undefined
  provider?: string | undefined
  factorType?: string | undefined
  recoveryCodesLeft?: string | undefined
  /** When the account will be deleted. */
  deletionDate?: string | undefined
  /** The name of the inviter, if it is a person. */
  inviter?: string | undefined
  /** user_metadata, printed as `{{ .Data.key }}`. */
  data?: Readonly<Record<string, unknown>> | undefined
}
