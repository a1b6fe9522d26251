import type { Attachment } from './brand.js'

export type SmtpConfig = {
  host: string
  port: number
  user?: string | undefined
  pass?: string | undefined
  adminEmail: string
  senderName?: string | undefined
}

export type OutgoingMail = {
  to: string
  subject: string
  html: string
  text?: string
  attachments?: readonly Attachment[]
  /** Part of the Message-ID, by which mailboxes drop duplicates. */
  id: string
}

/** A pool of connections to the mail server. */
export type SmtpTransport = {
  /** Loads and configures everything except the connection, so that the first email is not slow. */
  prepare(): Promise<void>
  /**
   * Resolves when the server accepted the email. Throws {@link MailRefusedError} when it permanently rejected the
   * recipient or the email, and other errors when a later attempt may succeed.
   */
  send(mail: OutgoingMail): Promise<void>
  close(): void
}

type Options = {
  /** Maximum number of concurrent connections. */
  connections: number
  /** Certificate authority of an SMTP server in tests. */
  ca?: string | undefined
}

/** The mail server rejects this email permanently. The text is for the log and names no address. */
export class MailRefusedError extends Error {
  override name = 'MailRefusedError'
}

const IMPLICIT_TLS_PORT = 465
const CONNECT_TIMEOUT_MS = 4000
const SILENCE_TIMEOUT_MS = 5000

export function openSmtpTransport(smtp: SmtpConfig, options: Options): SmtpTransport {
  const domain = smtp.adminEmail.split('@').at(-1)
  let pool: ReturnType<typeof openPool> | undefined
  let closed = false
  return {
    async prepare() {
      if (!closed) await (pool ??= openPool(smtp, options))
    },
    async send({ to, id, attachments = [], ...content }) {
      if (closed) throw new Error('the connections to the mail server are closed')
      const { sendMail } = await (pool ??= openPool(smtp, options))
      try {
        await sendMail({
          ...content,
          attachments: [...attachments],
          to: { name: '', address: to },
          messageId: `<${id}@${domain}>`,
        })
      } catch (error) {
        throw asRefusal(error)
      }
    },
    close() {
      closed = true
      void pool?.then(({ close }) => close())
    },
  }
}

/** Loaded for the first email or by `prepare`, because most processes never send one. Connects with the first email only. */
async function openPool(smtp: SmtpConfig, { connections, ca }: Options) {
  const { createTransport } = await import('nodemailer')
  const { adminEmail, senderName } = smtp
  const transport = createTransport(
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
  return {
    sendMail: (mail: Parameters<typeof transport.sendMail>[0]) => transport.sendMail(mail),
    close: () => transport.close(),
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
  return new MailRefusedError(`the mail server answered ${responseCode} to ${command}`)
}

/** TLS from the start on port 465, otherwise STARTTLS if offered; credentials only with a user. */
export const connectionOptions = ({ host, port, user, pass }: SmtpConfig) => ({
  host,
  port,
  secure: port === IMPLICIT_TLS_PORT,
  ...(user ? { auth: { user, pass: pass ?? '' } } : {}),
})
