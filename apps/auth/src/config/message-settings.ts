import { boolean, choice, hostName, integer, list, parsed, text, type Setting } from '@signet/config'
import { span } from './durations.js'
import { parseUrl } from '@signet/address-guard/parse-url'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from '../mail/kinds.js'
import { OTP_LENGTH } from './account-settings.js'

type TestOtpOptions = { env: string; fallback: ReadonlyMap<string, string>; fallbackDoc: string; doc: string }
type DateOptions = { env: string; optional: true; doc: string }

type PathOptions = { env: string; fallback: string; doc: string }

/**
 * Without these, an owner who signs up again would wait for an email that never comes, and people would not find out how to keep their
 * account.
 */
const ON_BY_DEFAULT: ReadonlySet<NoticeKind> = new Set([
  'account_exists_notification',
  'account_deletion_requested_notification',
  'account_deleted_notification',
])

/** Email and SMS. */
export const messageSettings = {
  smtpHost: hostName({
    env: 'AUTH_SMTP_HOST',
    optional: true,
    doc: 'SMTP server; required while email is enabled.',
  }),
  smtpPort: integer({
    env: 'AUTH_SMTP_PORT',
    optional: true,
    min: 1,
    max: 65535,
    doc: 'SMTP port; required while email is enabled. 465 means TLS from the start.',
  }),
  smtpAdminEmail: text({
    env: 'AUTH_SMTP_ADMIN_EMAIL',
    optional: true,
    pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    expected: 'an email address',
    doc: 'Sender address of emails; required while email is enabled.',
  }),
  smtpUser: text({
    env: 'AUTH_SMTP_USER',
    optional: true,
    doc: 'SMTP user; without it the server does not authenticate. With it, the SMTP server must offer TLS, unless it is on this machine.',
  }),
  smtpPass: text({ env: 'AUTH_SMTP_PASS', optional: true, secret: true, doc: 'SMTP password.' }),
  smtpSenderName: text({
    env: 'AUTH_SMTP_SENDER_NAME',
    optional: true,
    fallbackDoc: 'the sender address',
    doc: 'Sender name of emails.',
  }),
  smtpMaxFrequency: span({
    env: 'AUTH_SMTP_MAX_FREQUENCY',
    fallback: 900_000,
    doc: 'Shortest time between two confirmation or recovery emails that one client network requests for one address; 0 for no minimum.',
  }),
  mailerEmailChangeMaxFrequency: span({
    env: 'AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY',
    fallback: 60_000,
    doc: 'Shortest time between two requests of one user to change the email address; 0 for no minimum.',
  }),
  mailerReauthenticationMaxFrequency: span({
    env: 'AUTH_MAILER_REAUTHENTICATION_MAX_FREQUENCY',
    fallback: 60_000,
    doc: 'Shortest time between two reauthentication codes emailed to one user; 0 for no minimum.',
  }),
  mailerMagicLinkMaxFrequency: span({
    env: 'AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY',
    fallback: 60_000,
    doc: 'Shortest time between two magic links that one client network requests for one address; recovery uses the larger of this and AUTH_SMTP_MAX_FREQUENCY.',
  }),
  mailerAutoconfirm: boolean({
    env: 'AUTH_MAILER_AUTOCONFIRM',
    fallback: false,
    doc: 'Treat email addresses as confirmed, including those that an external provider did not verify: the first person to sign up with an address has the account, and the owner of the address gets into it later. For development. AUTH_RATE_LIMIT_EMAIL_SENT and its parts do not apply then.',
  }),
  mailerAllowUnverifiedEmailSignIns: boolean({
    env: 'AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS',
    fallback: false,
    doc: 'Sign in users of external providers whose email is not verified. Excludes AUTH_MAILER_AUTOCONFIRM.',
  }),
  mailerSecureEmailChangeEnabled: boolean({
    env: 'AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED',
    fallback: true,
    doc: 'An email change must be confirmed at both addresses.',
  }),
  mailerOtpExp: span({
    env: 'AUTH_MAILER_OTP_EXP',
    fallback: 86_400_000,
    minMs: 1,
    doc: 'Life of links and codes sent by email.',
  }),
  mailerOtpLength: integer({
    env: 'AUTH_MAILER_OTP_LENGTH',
    fallback: 6,
    ...OTP_LENGTH,
    doc: 'Digits of a code sent by email, 6 to 10.',
  }),
  mailerNotificationsExp: span({
    env: 'AUTH_MAILER_NOTIFICATIONS_EXP',
    fallback: 259_200_000,
    minMs: 1,
    doc: 'How long the server tries to deliver a notice. Emails with a link or code are tried for AUTH_MAILER_OTP_EXP.',
  }),
  ...urlPathSettings(),
  emailAuthorizedAddresses: list({
    env: 'AUTH_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES',
    fallback: [],
    doc: 'Only send email to these addresses (labels `+x` ignored); empty for no restriction.',
  }),
  ...mailTextSettings(),
  ...noticeSettings(),

  smsProvider: choice({
    env: 'AUTH_SMS_PROVIDER',
    choices: ['twilio', 'messagebird', 'textlocal', 'vonage'],
    optional: true,
    doc: 'SMS gateway.',
  }),
  smsAutoconfirm: boolean({
    env: 'AUTH_SMS_AUTOCONFIRM',
    fallback: false,
    doc: 'Treat phone numbers as confirmed. AUTH_RATE_LIMIT_SMS_SENT and its parts do not apply then.',
  }),
  smsMaxFrequency: span({
    env: 'AUTH_SMS_MAX_FREQUENCY',
    fallback: 60_000,
    doc: 'Shortest time between two SMS of one kind that one client network requests for one number, or a signed-in user for theirs; 0 for no minimum.',
  }),
  smsOtpExp: span({
    env: 'AUTH_SMS_OTP_EXP',
    fallback: 60_000,
    minMs: 1,
    doc: 'Life of codes sent by SMS.',
  }),
  smsOtpLength: integer({
    env: 'AUTH_SMS_OTP_LENGTH',
    fallback: 6,
    ...OTP_LENGTH,
    doc: 'Digits of a code sent by SMS, 6 to 10.',
  }),
  smsTemplate: text({
    env: 'AUTH_SMS_TEMPLATE',
    fallback: 'Your code is {{ .Code }}',
    doc: 'Text of an SMS.',
  }),
  smsTestOtp: parsed<ReadonlyMap<string, string>, TestOtpOptions>({
    env: 'AUTH_SMS_TEST_OTP',
    kind: '`phone:code` list',
    fallback: new Map(),
    fallbackDoc: '–',
    doc: 'Fixed codes for test numbers; no SMS is sent to them.',
    parse: parseTestOtps,
  }),
  smsTestOtpValidUntil: parsed<Date, DateOptions>({
    env: 'AUTH_SMS_TEST_OTP_VALID_UNTIL',
    kind: 'RFC 3339 time',
    optional: true,
    doc: 'When the fixed codes stop working.',
    parse: parseTime,
  }),
  ...credentials({
    smsTwilioAccountSid: ['AUTH_SMS_TWILIO_ACCOUNT_SID', 'Twilio account.'],
    smsTwilioAuthToken: ['AUTH_SMS_TWILIO_AUTH_TOKEN', 'Twilio token.'],
    smsTwilioMessageServiceSid: [
      'AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID',
      'Twilio messaging service or sender number.',
    ],
    smsTwilioContentSid: ['AUTH_SMS_TWILIO_CONTENT_SID', 'Twilio content template for WhatsApp.'],
    smsMessagebirdAccessKey: ['AUTH_SMS_MESSAGEBIRD_ACCESS_KEY', 'MessageBird key.'],
    smsMessagebirdOriginator: ['AUTH_SMS_MESSAGEBIRD_ORIGINATOR', 'MessageBird sender.'],
    smsTextlocalApiKey: ['AUTH_SMS_TEXTLOCAL_API_KEY', 'Textlocal key.'],
    smsTextlocalSender: ['AUTH_SMS_TEXTLOCAL_SENDER', 'Textlocal sender.'],
    smsVonageApiKey: ['AUTH_SMS_VONAGE_API_KEY', 'Vonage key.'],
    smsVonageApiSecret: ['AUTH_SMS_VONAGE_API_SECRET', 'Vonage secret.'],
    smsVonageFrom: ['AUTH_SMS_VONAGE_FROM', 'Vonage sender.'],
  }),
}

function urlPathSettings() {
  const path = (env: string, what: string) =>
    parsed<string, PathOptions>({
      env,
      kind: 'text',
      fallback: '/verify',
      doc: `Path, or absolute URL, of the link in ${what}.`,
      parse: parsePath,
    })
  return {
    urlPathInvite: path('AUTH_MAILER_URLPATHS_INVITE', 'invitations'),
    urlPathConfirmation: path('AUTH_MAILER_URLPATHS_CONFIRMATION', 'confirmation emails'),
    urlPathRecovery: path('AUTH_MAILER_URLPATHS_RECOVERY', 'recovery emails and magic links'),
    urlPathEmailChange: path('AUTH_MAILER_URLPATHS_EMAIL_CHANGE', 'email change emails'),
  }
}

/** Only an absolute URL can be invalid: any path resolves to a URL. */
function parsePath(raw: string): string {
  if (/^https?:/i.test(raw) && parseUrl(raw) === null) throw new Error('must be a path or an absolute URL')
  return raw
}

/** Settings keys of one email kind, e.g. `mailSubject_magic_link`. */
type MailTextSettings = {
  [K in `mailSubject_${MailKind | NoticeKind}` | `mailTemplate_${MailKind | NoticeKind}`]: Setting<
    string | undefined
  >
}

function mailTextSettings(): MailTextSettings {
  const entries = [...mailKinds, ...noticeKinds].flatMap((kind) => [
    [
      `mailSubject_${kind}`,
      text({
        env: `AUTH_MAILER_SUBJECTS_${kind.toUpperCase()}`,
        optional: true,
        doc: `Subject of the ${kind} email.`,
      }),
    ],
    [
      `mailTemplate_${kind}`,
      text({
        env: `AUTH_MAILER_TEMPLATES_${kind.toUpperCase()}`,
        optional: true,
        doc: `URL, or path below the site URL, of the HTML template of the ${kind} email.`,
      }),
    ],
  ])
  return Object.fromEntries(entries) as MailTextSettings
}

type NoticeSettings = { [K in `notice_${NoticeKind}`]: Setting<boolean> }

function noticeSettings(): NoticeSettings {
  const entries = noticeKinds.map((kind) => [
    `notice_${kind}`,
    boolean({
      env: `AUTH_MAILER_NOTIFICATIONS_${kind.replace(/_notification$/, '').toUpperCase()}_ENABLED`,
      fallback: ON_BY_DEFAULT.has(kind),
      doc: `Send the ${kind} email.`,
    }),
  ])
  return Object.fromEntries(entries) as NoticeSettings
}

function credentials<K extends string>(
  rows: Readonly<Record<K, readonly [env: string, doc: string]>>,
): Record<K, Setting<string | undefined>> {
  const entries = Object.entries<readonly [string, string]>(rows).map(([key, [env, doc]]) => [
    key,
    text({ env, optional: true, secret: /KEY|TOKEN|SECRET/.test(env), doc }),
  ])
  return Object.fromEntries(entries) as Record<K, Setting<string | undefined>>
}

function parseTestOtps(raw: string): ReadonlyMap<string, string> {
  const pairs = raw.split(',').map((item) => /^\s*\+?([1-9]\d{1,14})\s*[:=]\s*(\d{1,10})\s*$/.exec(item))
  return new Map(
    pairs.map((match) => {
      if (!match?.[1] || !match[2]) throw new Error('must be phone:code pairs separated by commas')
      return [match[1], match[2]]
    }),
  )
}

function parseTime(raw: string): Date {
  const time = /^\d{4}-\d\d-\d\dT/.test(raw) ? new Date(raw) : new Date(NaN)
  if (Number.isNaN(time.getTime())) throw new Error('must be a time such as 2030-01-01T00:00:00Z')
  return time
}
