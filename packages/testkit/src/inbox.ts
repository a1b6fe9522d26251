import { setTimeout } from 'node:timers/promises'
import { type Mail, startInbox as startPlainInbox, waitUntil } from '@signet/local'

interface InboxOptions {
  /** When set, the server offers STARTTLS; otherwise, it speaks plain text. */
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
  /** Recipients that the fault applies to; everybody unless given. */
  to?: (address: string) => boolean
}

export interface MailFilter {
  /** Envelope recipient, compared without regard to case. */
  to?: string
  subject?: string | RegExp
  /** Only emails that arrived after this one. */
  after?: Pick<Mail, 'id'>
}

export type Inbox = Awaited<ReturnType<typeof startInbox>>

/** The inbox of the local stack, which also fails on demand, is as strict as real mail servers, and can wait for emails. */
export async function startInbox({ tls, credentials }: InboxOptions = {}) {
  let fault: SmtpFault | null = null
  const faultFor = (to: string[]): SmtpFault | undefined =>
    fault && to.some(fault.to ?? (() => true)) ? fault : undefined

  const inbox = await startPlainInbox({
    adapt: (own) => ({
      ...own,
      ...(tls && { ...tls, disabledCommands: [] }),
      authOptional: !credentials,
      onAuth({ username = '', password }, _session, done) {
        const right = !credentials || (username === credentials.user && password === credentials.pass)
        done(right ? null : new Error('Invalid username or password'), { user: username })
      },
      onRcptTo({ address }, _session, done) {
        const failing = faultFor([address])
        done(failing?.at === 'recipient' ? refusal(failing) : null)
      },
      onData(stream, session, done) {
        const failing = faultFor(session.envelope.rcptTo.map(({ address }) => address))
        const keep = (answer: typeof done) => own.onData(stream, session, answer)
        if (failing?.at === 'hang') stream.resume()
        else if (failing?.at === 'message') stream.resume().once('end', () => done(refusal(failing)))
        else if (failing?.at === 'slow')
          void setTimeout(failing.ms, undefined, { ref: false }).then(() => keep(done))
        else keep(failing?.at === 'silent' ? () => undefined : done)
      },
    }),
  })
  const messages = (filter: MailFilter = {}): Mail[] =>
    inbox.messages(filter).filter((mail) => matches(mail, filter))
  return {
    ...inbox,
    /** Oldest first. */
    messages,
    /** The first email that matches, already received or still to come. */
    waitForMail: ({ timeoutMs, ...filter }: MailFilter & { timeoutMs?: number }): Promise<Mail> =>
      waitUntil(() => messages(filter)[0], {
        timeoutMs,
        describe: `an email ${describe(filter)}`,
        seen: () => {
          const seen = inbox.messages().map(({ subject, to }) => `"${subject}" to ${to.join(', ')}`)
          return `the inbox holds ${seen.join('; ') || 'nothing'}`
        },
      }),
    /** Makes emails fail until it is called with null. */
    fail(next: SmtpFault | null): void {
      fault = next
    },
  }
}

const matches = (mail: Mail, { subject, after }: MailFilter): boolean =>
  (!after || mail.id > after.id) &&
  (subject instanceof RegExp ? subject.test(mail.subject) : mail.subject === (subject ?? mail.subject))

const describe = ({ to, subject, after }: MailFilter): string =>
  [to && `to ${to}`, subject && `with subject ${String(subject)}`, after && `after email ${after.id}`]
    .filter(Boolean)
    .join(' ')

const refusal = ({ code = 550 }: SmtpFault): Error =>
  Object.assign(new Error('refused, as this test wants it'), { responseCode: code })
