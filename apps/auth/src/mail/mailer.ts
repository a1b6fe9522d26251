import { isAppError } from '@signet/errors'
import { type Logger, type Tracing } from '@signet/telemetry'
import { createTransport } from 'nodemailer'
import { authError } from '../errors/auth-error.js'
import { type Outbound } from '../outbound/outbound.js'
import { type GlobalLimit } from '../rate-limits/rate-limits.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { isDeliverable } from './deliverable.js'
import { type MailKind, type MailVariables, type NoticeKind } from './kinds.js'
import { MailRenderer, type RenderConfig } from './mail-renderer.js'

export type Mailer = {
  /**
   * Sends one mail and resolves when the SMTP server took it. Refuses as `refuse` does, with
   * `over_email_send_rate_limit`, or `unexpected_failure` when it could not be sent. Never call it in a transaction.
   */
  send(kind: MailKind, to: string, variables: MailVariables, meta: RequestMeta): Promise<void>
  /** Throws `email_address_invalid` or `email_address_not_authorized` for an address that no mail goes to. */
  refuse(to: string): void
  /** Sends a notice when its switch is on and `to` is not empty. Never rejects: failures are logged. */
  notify(kind: NoticeKind, to: string, variables: MailVariables, meta: RequestMeta): Promise<void>
  close(): Promise<void>
}

/** The mailer's part of the configuration (contract 10.1 to 10.4). */
export type MailConfig = RenderConfig & {
  /** Undefined where email is disabled: mails are then skipped and logged. */
  smtp: SmtpConfig | undefined
  /** Notices that are switched on. */
  notices: ReadonlySet<NoticeKind>
  /** When not empty, mail goes to these addresses only (labels `+x` ignored). */
  authorizedAddresses: readonly string[]
}

export type SmtpConfig = {
  host: string
  port: number
  user?: string | undefined
  pass?: string | undefined
  adminEmail: string
  senderName?: string | undefined
}

type Deps = {
  config: MailConfig
  outbound: Outbound
  log: Logger
  /** The quota of the whole server. */
  limit: Pick<GlobalLimit, 'consume'>
  /** Told about each mail that was tried, for the counters of 12.5. */
  observe?: (kind: MailKind | NoticeKind, outcome: 'sent' | 'failed') => void
  tracing?: Tracing | undefined
  now?: () => Date
  /** Certificate authority of an SMTP server in tests. */
  smtpCa?: string
}

const IMPLICIT_TLS_PORT = 465
/** Shorter together than the limit of a request, so that a failure is still answered as one. */
const CONNECT_TIMEOUT_MS = 4000
const SILENCE_TIMEOUT_MS = 5000

export function createMailer({ config, outbound, log, limit, observe, tracing, now, smtpCa }: Deps): Mailer {
  const renderer = new MailRenderer({ config, outbound, log, now })
  const authorized = new Set(config.authorizedAddresses.map(withoutLabel))
  const transport = config.smtp && openTransport(config.smtp, smtpCa)

  function refuse(to: string): void {
    // Where no mail is sent anyway, no address is wrong for it.
    if (!transport) return
    if (!isDeliverable(to))
      throw authError('invalid', 'email_address_invalid', 'Email address is too long to get mail')
    if (authorized.size > 0 && !authorized.has(withoutLabel(to)))
      throw authError('invalid', 'email_address_not_authorized', 'Email address not authorized')
  }

  async function deliver(
    kind: MailKind | NoticeKind,
    to: string,
    variables: MailVariables,
    meta: RequestMeta,
  ): Promise<void> {
    const { requestId } = meta
    if (!transport)
      return log.warn('a mail was skipped: email is not configured', { request_id: requestId, kind })
    refuse(to)
    await limit.consume(meta)
    try {
      const mail = await renderer.render(kind, variables, requestId)
      const submit = () => transport.sendMail({ ...mail, to: { name: '', address: to } })
      if (!tracing) await submit()
      else await tracing.span('smtp', { kind: 'client', attributes: { 'auth.mail.kind': kind } }, submit)
      observe?.(kind, 'sent')
    } catch (cause) {
      observe?.(kind, 'failed')
      throw authError('internal', 'unexpected_failure', 'The mail could not be sent', { cause })
    }
  }

  return {
    send: deliver,
    refuse,
    async notify(kind, to, variables, meta) {
      if (!config.notices.has(kind) || to === '') return
      await deliver(kind, to, variables, meta).catch((error: unknown) => {
        log.error('a notice could not be sent', {
          request_id: meta.requestId,
          kind,
          error: isAppError(error) ? (error.cause ?? error) : error,
        })
      })
    },
    close() {
      transport?.close()
      return Promise.resolve()
    },
  }
}

function openTransport(smtp: SmtpConfig, ca?: string) {
  const { adminEmail, senderName } = smtp
  return createTransport(
    {
      ...connectionOptions(smtp),
      ...(ca === undefined ? {} : { tls: { ca } }),
      pool: true,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      dnsTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      // Values of users end up in mails: they must never be read as files or URLs.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    {
      from: { name: senderName || adminEmail, address: adminEmail },
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  )
}

/** Contract 10.4: TLS from the start on port 465, else STARTTLS when it is offered; credentials only with a user. */
export const connectionOptions = ({ host, port, user, pass }: SmtpConfig) => ({
  host,
  port,
  secure: port === IMPLICIT_TLS_PORT,
  ...(user ? { auth: { user, pass: pass ?? '' } } : {}),
})

/** `ann+news@example.com` and `ann@example.com` are one mailbox. */
const withoutLabel = (address: string) => address.toLowerCase().replace(/\+[^@]*(?=@)/, '')
