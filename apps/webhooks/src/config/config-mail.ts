import { boolean, httpUrl, hostName, integer, text } from '@signet/config'
import { FAILURES_TO_WARN } from '@signet/webhook-core'

/** Emails to people (docs/specification.md#warnings). */
export const mailSettings = {
  smtpHost: hostName({
    env: 'WEBHOOKS_SMTP_HOST',
    optional: true,
    fallbackDoc: 'no emails',
    doc: 'SMTP server. Emails also need WEBHOOKS_SMTP_PORT, WEBHOOKS_SMTP_ADMIN_EMAIL and WEBHOOKS_IDENTITY_SERVICE_TOKEN, which finds the address of an account.',
  }),
  smtpPort: integer({
    env: 'WEBHOOKS_SMTP_PORT',
    optional: true,
    min: 1,
    max: 65_535,
    doc: 'SMTP port. 465 means TLS from the start.',
  }),
  smtpAdminEmail: text({
    env: 'WEBHOOKS_SMTP_ADMIN_EMAIL',
    optional: true,
    pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    expected: 'an email address',
    doc: 'Sender address of emails.',
  }),
  smtpUser: text({
    env: 'WEBHOOKS_SMTP_USER',
    optional: true,
    doc: 'SMTP user; without it the server does not authenticate. With it, the SMTP server must offer TLS, unless it is on this machine.',
  }),
  smtpPass: text({ env: 'WEBHOOKS_SMTP_PASS', optional: true, secret: true, doc: 'SMTP password.' }),
  smtpSenderName: text({
    env: 'WEBHOOKS_SMTP_SENDER_NAME',
    optional: true,
    fallbackDoc: 'the sender address',
    doc: 'Sender name of emails.',
  }),
  warningEmails: boolean({
    env: 'WEBHOOKS_WARNING_EMAILS',
    fallback: true,
    doc: `With an SMTP server, email the owner of a webhook at ${FAILURES_TO_WARN.join(' and ')} failures in a row and when it is disabled.`,
  }),
  manageUrl: httpUrl({
    env: 'WEBHOOKS_MANAGE_URL',
    optional: true,
    fallbackDoc: '`/portal` of this service',
    doc: 'Page on which people manage their webhooks; emails link to it.',
  }),
}
