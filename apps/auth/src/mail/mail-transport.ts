import type { Logger, Tracing } from '@signet/telemetry'
import { createTransport } from 'nodemailer'
import { UndeliverableError } from '../outbox/outbox-handler.js'
import type { Outbound } from '../outbound/outbound.js'
import type { MailKind, MailVariables, NoticeKind } from './kinds.js'
import type { MailConfig, RenderConfig, SmtpConfig } from './mail-config.js'
import { MailRenderer } from './mail-renderer.js'

/** Sends emails by SMTP. */
export type MailTransport = {
  /**
   * Resolves when the SMTP server accepted the email. Throws `UndeliverableError` when it permanently rejected the
   * recipient or the email, and other errors when a later attempt may succeed.
   */
  send(kind: MailKind | NoticeKind, to: string, variables: MailVariables, message: Message): Promise<void>
  close(): Promise<void>
}

type Message = {
  /** Part of the Message-ID, by which mailboxes drop duplicates. */
  id: string
  requestId: string
}

type Deps = {
  config: Pick<MailConfig, keyof RenderConfig | 'smtp' | 'connections'>
  outbound: Outbound
  log: Logger
  /** Called for every attempt, for the counters. */
  observe?: (kind: MailKind | NoticeKind, outcome: 'sent' | 'failed') => void
  tracing?: Tracing | undefined
  now?: () => Date
  /** Certificate authority of an SMTP server in tests. */
  smtpCa?: string
}

const IMPLICIT_TLS_PORT = 465
const CONNECT_TIMEOUT_MS = 4000
const SILENCE_TIMEOUT_MS = 5000

export function createMailTransport(deps: Deps): MailTransport {
  const { config, outbound, log, observe, tracing, now, smtpCa } = deps
  const renderer = new MailRenderer({ config, outbound, log, now })
  const transport = config.smtp && openTransport(config.smtp, config.connections, smtpCa)
  const domain = config.smtp?.adminEmail.split('@').at(-1)
  return {
    async send(kind, to, variables, { id, requestId }) {
      if (!transport) throw new Error('email is not configured')
      try {
        const mail = await renderer.render(kind, variables, requestId)
        const envelope = { to: { name: '', address: to }, messageId: `<${id}@${domain}>` }
        const submit = () => transport.sendMail({ ...mail, ...envelope })
        if (!tracing) await submit()
        else await tracing.span('smtp', { kind: 'client', attributes: { 'auth.mail.kind': kind } }, submit)
        observe?.(kind, 'sent')
      } catch (error) {
        observe?.(kind, 'failed')
        throw asRefusal(error)
      }
    },
    close() {
      transport?.close()
      return Promise.resolve()
    },
  }
}

/** Commands whose replies are about this recipient or email, not about the server or us. */
const MESSAGE_COMMANDS = new Set(['RCPT TO', 'DATA'])

/** RFC 5321 section 4.2.1: do not repeat the same request after a 5yz reply. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !('responseCode' in error) || !('command' in error)) return error
  const { responseCode, command } = error
  if (typeof responseCode !== 'number' || responseCode < 500 || responseCode > 599) return error
  if (typeof command !== 'string' || !MESSAGE_COMMANDS.has(command)) return error
  return new UndeliverableError(`the mail server answered ${responseCode} to ${command}`)
}

function openTransport(smtp: SmtpConfig, connections: number, ca?: string) {
  const { adminEmail, senderName } = smtp
  return createTransport(
    {
      ...connectionOptions(smtp),
      ...(ca === undefined ? {} : { tls: { ca } }),
      pool: true,
      maxConnections: connections,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      dnsTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      // Emails contain user input, which must never be read as files or URLs.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    {
      from: { name: senderName || adminEmail, address: adminEmail },
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  )
}

/** TLS from the start on port 465, otherwise STARTTLS if offered; credentials only with a user. */
export const connectionOptions = ({ host, port, user, pass }: SmtpConfig) => ({
  host,
  port,
  secure: port === IMPLICIT_TLS_PORT,
  ...(user ? { auth: { user, pass: pass ?? '' } } : {}),
})
