import type { MailContent } from '@signet/mail'
import type { MailKind, NoticeKind } from './kinds.js'

const NOT_YOU = 'If you did not ask for this, you can ignore this email: nothing will change.'
const ALARM =
  'If this was not you, sign in at {{ .SiteURL }} and secure your account, or ask its support for help.'

/** What the built-in emails say (docs/specification.md#emails). */
export const contents: Readonly<Record<MailKind | NoticeKind, MailContent>> = {
  invite: {
    subject: "You've been invited",
    heading: "You've been invited",
    sentence: 'You have been invited to create an account at {{ .SiteURL }}.',
    button: 'Accept the invitation',
    code: true,
    closing: 'If you did not expect an invitation, you can ignore this email.',
  },
  confirmation: {
    subject: 'Confirm your email address',
    heading: 'Confirm your email address',
    sentence: 'Please confirm {{ .Email }} to finish signing up at {{ .SiteURL }}.',
    button: 'Confirm my address',
    code: true,
    closing: NOT_YOU,
  },
  recovery: {
    subject: 'Reset your password',
    heading: 'Reset your password',
    sentence: 'Someone, hopefully you, asked to reset the password of your account at {{ .SiteURL }}.',
    button: 'Choose a new password',
    code: true,
    closing: NOT_YOU,
  },
  magic_link: {
    subject: 'Your sign-in link',
    heading: 'Your sign-in link',
    sentence: 'Use this link to sign in at {{ .SiteURL }}. It works once.',
    button: 'Sign in',
    code: true,
    closing: NOT_YOU,
  },
  email_change: {
    subject: 'Confirm your new email address',
    heading: 'Confirm your new email address',
    sentence:
      'Please confirm that {{ .NewEmail }} becomes the email address of your account at {{ .SiteURL }}.',
    button: 'Confirm the change',
    code: true,
    closing: NOT_YOU,
  },
  reauthentication: {
    subject: '{{ .Token }} is your verification code',
    heading: 'Your verification code',
    sentence: 'Enter this code to confirm it’s you.',
    code: true,
    closing: 'Never share this code with anyone. If you did not ask for it, change your password.',
  },
  account_exists_notification: {
    subject: 'You already have an account',
    heading: 'You already have an account',
    sentence:
      'Someone, hopefully you, tried to sign up at {{ .SiteURL }} with {{ .Email }}. That address has an account, so you can sign in.',
    button: 'Sign in',
    recovery: 'Forgot your password? Choose a new one',
    closing: NOT_YOU,
  },
  password_changed_notification: {
    subject: 'Your password was changed',
    heading: 'Your password was changed',
    sentence: 'The password of your account {{ .Email }} was changed.',
    closing: ALARM,
  },
  email_changed_notification: {
    subject: 'Your email address was changed',
    heading: 'Your email address was changed',
    sentence: 'The email address of your account was changed from {{ .OldEmail }} to {{ .Email }}.',
    closing: ALARM,
  },
  phone_changed_notification: {
    subject: 'Your phone number was changed',
    heading: 'Your phone number was changed',
    sentence:
      'The phone number of your account {{ .Email }} was changed from {{ .OldPhone }} to {{ .Phone }}.',
    closing: ALARM,
  },
  identity_linked_notification: {
    subject: 'A new sign-in method was linked to your account.',
    heading: 'A sign-in method was linked',
    sentence: 'Signing in with {{ .ProviderName }} was linked to your account {{ .Email }}.',
    closing: ALARM,
  },
  identity_unlinked_notification: {
    subject: 'A sign-in method was removed from your account.',
    heading: 'A sign-in method was removed',
    sentence: 'Signing in with {{ .ProviderName }} was removed from your account {{ .Email }}.',
    closing: ALARM,
  },
  mfa_factor_enrolled_notification: {
    subject: 'A new verification method was added to your account.',
    heading: 'A verification method was added',
    sentence: 'A verification method ({{ .FactorName }}) was added to your account {{ .Email }}.',
    closing: ALARM,
  },
  mfa_factor_unenrolled_notification: {
    subject: 'A verification method was removed from your account.',
    heading: 'A verification method was removed',
    sentence: 'A verification method ({{ .FactorName }}) was removed from your account {{ .Email }}.',
    closing: ALARM,
  },
  mfa_recovery_codes_created_notification: {
    subject: 'New recovery codes were made for your account.',
    heading: 'New recovery codes were made',
    sentence:
      'Recovery codes that replace a second factor were made for your account {{ .Email }}. Earlier ones no longer work.',
    closing: ALARM,
  },
  mfa_recovery_code_used_notification: {
    subject: 'A recovery code was used to sign in to your account.',
    heading: 'A recovery code was used',
    sentence:
      'A recovery code was used in place of a second factor of your account {{ .Email }}. Codes left: {{ .RecoveryCodesLeft }}.',
    closing: ALARM,
  },
  account_deletion_requested_notification: {
    subject: 'Your account will be deleted',
    heading: 'Your account will be deleted',
    sentence:
      'The deletion of your account {{ .Email }} was asked for. It will be deleted on {{ .DeletionDate }}, and is signed out everywhere until then. To keep it, sign in before that.',
    button: 'Keep my account',
    closing: ALARM,
  },
  account_deleted_notification: {
    subject: 'Your account was deleted',
    heading: 'Your account was deleted',
    sentence:
      'Your account {{ .Email }} at {{ .SiteURL }} was deleted, with everything that was stored about it.',
    closing: 'This is the last email about this account.',
  },
}
