import type { SendMailOptions } from 'nodemailer'
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
  /** Part of the Message-ID, which mailboxes use to drop duplicates. */
  id: string
}

/** A pool of connections to the mail server. */
export type SmtpTransport = {
  /** Loads and configures everything except the connection, so that the first email is not slow. */
  prepare(): Promise<void>
  /**
   * Resolves when the server has accepted the email. Throws {@link MailRefusedError} if it permanently rejected the recipient or the
   * email, {@link MailUnansweredError} if it may have accepted it, and other errors if a later attempt may succeed. Once connected,
   * only `signal` limits how long the server may take: a server that has received an email may need minutes to answer, and an email
   * that is sent again in the meantime arrives twice (RFC 5321 section 4.5.3.2.6).
   */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<void>
  /** Closes all connections, even in the middle of an email. */
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

/** The connection ended after the whole email was sent and before the server answered, so it is unknown whether the server has it. */
export class MailUnansweredError extends Error {
  override name = 'MailUnansweredError'
}

const IMPLICIT_TLS_PORT = 465
/** Time limit for DNS, the connection, TLS and the greeting together. */
const CONNECT_TIMEOUT_MS = 4000
/** How long a connection stays open for the next email. */
const IDLE_TIMEOUT_MS = 5000
/** The longest delay that a timer supports. */
const NEVER_MS = 2 ** 31 - 1

export function openSmtpTransport(smtp: SmtpConfig, options: Options): SmtpTransport {
  const domain = smtp.adminEmail.split('@').at(-1)
  let pool: ReturnType<typeof openPool> | undefined
  let closed = false
  return {
    async prepare() {
      if (!closed) await (pool ??= openPool(smtp, options))
    },
    async send({ to, id, attachments = [], ...content }, signal) {
      if (closed) throw new Error('the connections to the mail server are closed')
      const { submit } = await (pool ??= openPool(smtp, options))
      let isSent = false
      const mail = {
        ...content,
        attachments: [...attachments],
        to: { name: '', address: to },
        messageId: `<${id}@${domain}>`,
        signal,
      }
      try {
        await submit(mail, () => (isSent = true))
      } catch (error) {
        throw asFailure(error, isSent)
      }
    },
    close() {
      closed = true
      void pool?.then(({ close }) => close())
    },
  }
}

/** Loads the library for the first email or for `prepare`, because most processes never send one. Connects only with the first email. */
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
      socketTimeout: NEVER_MS,
      idleTimeout: IDLE_TIMEOUT_MS,
      // Emails contain user input, which must never be read as files or URLs.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    {
      from: { name: senderName || adminEmail, address: adminEmail },
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  )
  const onSent = new WeakMap<object, () => void>()
  // Each email has its own array of attachments, which identifies it: nodemailer copies everything else.
  transport.use('stream', ({ data, message }, done) => {
    const act = onSent.get(data.attachments ?? [])
    message.processFunc((stream) => (act ? stream.once('end', act) : stream))
    done()
  })
  return {
    /** Calls `sent` when the whole email is on its way to the server. */
    submit: (mail: SendMailOptions & { attachments: Attachment[] }, sent: () => void) => {
      onSent.set(mail.attachments, sent)
      return transport.sendMail(mail)
    },
    close: () => transport.close({ force: true }),
  }
}

/** Commands whose replies are about this recipient or email, not about the server or us. */
const MESSAGE_COMMANDS = new Set(['RCPT TO', 'DATA'])

/**
 * Turns a permanent rejection into an error that stops further attempts: RFC 5321 section 4.2.1 says not to repeat a request after a
 * 5yz reply.
 */
function asFailure(error: unknown, isSent: boolean): unknown {
  const { responseCode, command } = error as { responseCode?: unknown; command?: unknown }
  if (typeof responseCode !== 'number')
    return isSent
      ? new MailUnansweredError('the mail server did not answer to all of an email', { cause: error })
      : error
  if (responseCode < 500 || responseCode > 599) return error
  if (typeof command !== 'string' || !MESSAGE_COMMANDS.has(command)) return error
  return new MailRefusedError(`the mail server answered ${responseCode} to ${command}`)
}

const THIS_MACHINE = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

/**
 * Uses TLS from the start on port 465, otherwise STARTTLS if the server offers it. With a user, credentials are sent and STARTTLS is
 * required, because an attacker on the network could remove the offer (decision 0258).
 */
export const connectionOptions = ({ host, port, user, pass }: SmtpConfig) => ({
  host,
  port,
  secure: port === IMPLICIT_TLS_PORT,
  requireTLS: Boolean(user) && !THIS_MACHINE.test(host),
  ...(user ? { auth: { user, pass: pass ?? '' } } : {}),
})
