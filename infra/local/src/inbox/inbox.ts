import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import type { SMTPServerOptions } from 'smtp-server'
import { type Place, portOf } from '../web-server.js'
import { type Mail, parseMail } from './mail.js'

interface InboxOptions extends Place {
  /** Changes how the server behaves, for tests. */
  adapt?: (settings: Settings) => SMTPServerOptions
}

type Settings = SMTPServerOptions & Required<Pick<SMTPServerOptions, 'onData'>>

export type Inbox = Awaited<ReturnType<typeof startInbox>>

/** Maximum number of emails kept; the oldest are dropped, so that a long-running inbox does not fill the memory. */
const KEPT = 1000
const MAX_MAIL_BYTES = 25 * 1024 * 1024

/** A real SMTP server that delivers nothing: it keeps emails in memory. */
export async function startInbox({ port = 0, host = '127.0.0.1', adapt = (own) => own }: InboxOptions = {}) {
  const mails: Mail[] = []
  let count = 0
  const { SMTPServer } = await import('smtp-server')
  const settings: Settings = {
    size: MAX_MAIL_BYTES,
    // The library would offer STARTTLS with its own certificate, which nobody can verify.
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 500,
    onAuth: ({ username = '' }, _session, done) => done(null, { user: username }),
    onData(stream, { envelope: { mailFrom, rcptTo } }, done) {
      const take = async (): Promise<void> => {
        const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
        const raw = await buffer(stream)
        count += 1
        mails.push(await parseMail(count, envelope, raw))
        mails.splice(0, Math.max(0, mails.length - KEPT))
      }
      take().then(() => done(), done)
    },
  }
  const smtp = new SMTPServer(adapt(settings))
  smtp.on('error', () => {}) // a client that disconnects must not stop us
  await once(smtp.listen(port, host), 'listening')
  return {
    smtpPort: portOf(smtp.server),
    /** Oldest first. Compares the envelope's recipient without regard to case. */
    messages: ({ to }: { to?: string } = {}): Mail[] =>
      mails.filter(
        (mail) => to === undefined || mail.to.some((one) => one.toLowerCase() === to.toLowerCase()),
      ),
    clear: (): void => void mails.splice(0),
    close: () => new Promise<void>((resolve) => smtp.close(resolve)),
  }
}
