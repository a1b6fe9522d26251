import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { SMTPServerOptions } from 'smtp-server'
import { waitUntil } from '../wait-until.js'
import { type Place, portOf } from '../web-server.js'
import { type Mail, type MailFilter, parseMail } from './mail.js'

interface InboxOptions extends Place {
  /** Offers STARTTLS. Plain text otherwise. */
  tls?: { key: string; cert: string }
  /** When set, clients must sign in with exactly this. */
  credentials?: { user: string; pass: string }
}

/** What the server does instead of accepting an email. */
export interface SmtpFault {
  /**
   * `recipient` refuses at RCPT TO, `message` after the data; `hang` takes the data and never answers, `slow` takes it and
   * answers after `ms`; `silent` keeps the email and never answers.
   */
  at: 'recipient' | 'message' | 'hang' | 'slow' | 'silent'
  ms?: number
  /** SMTP reply code; 550 unless given. */
  code?: number
  /** Recipients it concerns; everybody unless given. */
  to?: (address: string) => boolean
}

export type Inbox = Awaited<ReturnType<typeof startInbox>>

/** Maximum number of emails kept; the oldest are dropped, so that a long-running inbox does not fill the memory. */
const KEPT = 1000
const MAX_MAIL_BYTES = 25 * 1024 * 1024

/** A real SMTP server that delivers nothing: it keeps emails in memory. */
export async function startInbox(options: InboxOptions = {}) {
  const mails: Mail[] = []
  let count = 0
  let fault: SmtpFault | null = null
  const fails = (at: SmtpFault['at'], to: string[]) =>
    fault?.at === at && to.some(fault.to ?? (() => true)) ? fault : undefined
  const messages = (filter: MailFilter = {}): Mail[] => mails.filter((mail) => matches(mail, filter))

  const { SMTPServer } = await import('smtp-server')
  const smtp = new SMTPServer({
    ...connectionOptions(options),
    size: MAX_MAIL_BYTES,
    onRcptTo({ address }, _session, done) {
      done(refusal(fails('recipient', [address])))
    },
    onData(stream, { envelope: { mailFrom, rcptTo } }, done) {
      const to = rcptTo.map(({ address }) => address)
      const take = async (): Promise<void> => {
        const raw = await buffer(stream)
        if (fails('hang', to)) return
        const slow = fails('slow', to)
        if (slow) await setTimeout(slow.ms, undefined, { ref: false })
        const refused = fails('message', to)
        if (refused) return done(refusal(refused))
        count += 1
        mails.push(await parseMail(count, { from: mailFrom ? mailFrom.address : '', to }, raw))
        mails.splice(0, Math.max(0, mails.length - KEPT))
        if (!fails('silent', to)) done()
      }
      take().catch(done)
    },
  })
  smtp.on('error', () => {}) // a client that breaks off must not stop us
  await once(smtp.listen(options.port ?? 0, options.host ?? '127.0.0.1'), 'listening')

  return {
    smtpPort: portOf(smtp.server),
    /** Oldest first. */
    messages,
    clear: (): void => void mails.splice(0),
    /** The first email that matches, already received or still to come. */
    waitForMail: ({ timeoutMs, ...filter }: MailFilter & { timeoutMs?: number }): Promise<Mail> =>
      waitUntil(() => messages(filter)[0], {
        timeoutMs,
        describe: `mail ${describe(filter)}`,
        seen: () => {
          const seen = mails.map(({ subject, to }) => `"${subject}" to ${to.join(', ')}`)
          return `the inbox holds ${seen.join('; ') || 'nothing'}`
        },
      }),
    /** Makes emails fail from now on; null ends that. */
    fail(next: SmtpFault | null): void {
      fault = next
    },
    close: () => new Promise<void>((resolve) => smtp.close(resolve)),
  }
}

const connectionOptions = ({ tls, credentials }: InboxOptions): SMTPServerOptions => ({
  ...tls,
  // The library would offer STARTTLS with a certificate of its own that nobody can verify.
  disabledCommands: tls ? [] : ['STARTTLS'],
  authOptional: !credentials,
  allowInsecureAuth: true,
  disableReverseLookup: true,
  closeTimeout: 500,
  onAuth({ username, password }, _session, done) {
    const right = !credentials || (username === credentials.user && password === credentials.pass)
    done(right ? null : new Error('Invalid username or password'), { user: username ?? '' })
  },
})

function matches(mail: Mail, { to, subject, after }: MailFilter): boolean {
  if (to !== undefined && !mail.to.some((address) => address.toLowerCase() === to.toLowerCase())) return false
  if (after && mail.id <= after.id) return false
  return subject instanceof RegExp ? subject.test(mail.subject) : mail.subject === (subject ?? mail.subject)
}

const describe = ({ to, subject, after }: MailFilter): string =>
  [to && `to ${to}`, subject && `with subject ${String(subject)}`, after && `after mail ${after.id}`]
    .filter(Boolean)
    .join(' ')

const refusal = (fault: SmtpFault | undefined): Error | null =>
  fault
    ? Object.assign(new Error('refused, as this test wants it'), { responseCode: fault.code ?? 550 })
    : null
