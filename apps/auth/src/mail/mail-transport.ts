import { MailRefusedError, MailUnansweredError, openSmtpTransport } from '@signet/mail'
import type { Tracing } from '@signet/telemetry'
import type { Observer } from '../observers/observer.js'
import { UndeliverableError, UnknownOutcomeError } from '../outbox/outbox-handler.js'
import type { Outbound } from '../outbound/outbound.js'
import type { MailKind, MailVariables, NoticeKind } from './kinds.js'
import type { MailConfig, RenderConfig } from './mail-config.js'
import type { MailOrigin } from './mail-origin.js'
import { MailRenderer } from './mail-renderer.js'

/** Sends emails by SMTP. */
export type MailTransport = {
  /**
   * Does all the work that the first email would otherwise do, and that keeps the process busy for a moment. Only requests about existing
   * accounts send emails, so a stranger could notice that moment and conclude that there is an account.
   */
  prepare(): Promise<void>
  /**
   * Resolves when the SMTP server has accepted the email. Throws `UndeliverableError` when it permanently rejected the recipient or the
   * email, `UnknownOutcomeError` when it may have accepted it, and other errors when a later attempt may succeed.
   */
  send(kind: MailKind | NoticeKind, to: string, variables: MailVariables, message: Message): Promise<void>
  close(): Promise<void>
}

type Message = {
  /** Part of the Message-ID, by which mailboxes drop duplicates. */
  id: string
  requestId: string
  origin: MailOrigin
  /** Ends the attempt. */
  signal: AbortSignal
}

type Deps = {
  config: Pick<MailConfig, keyof RenderConfig | 'smtp' | 'connections'>
  outbound: Outbound
  observer: Pick<Observer, 'mailTried' | 'mailSubjectUnusable' | 'mailTemplateUnavailable'>
  tracing?: Tracing | undefined
  now?: () => Date
  /** Certificate authority of an SMTP server in tests. */
  smtpCa?: string
}

export function createMailTransport(deps: Deps): MailTransport {
  const { config, outbound, observer, tracing, now, smtpCa } = deps
  const renderer = new MailRenderer({ config, outbound, observer, now })
  const transport =
    config.smtp && openSmtpTransport(config.smtp, { connections: config.connections, ca: smtpCa })
  return {
    async prepare() {
      if (!transport) return
      await transport.prepare()
      await renderer.prepare()
    },
    async send(kind, to, variables, { id, requestId, origin, signal }) {
      if (!transport) throw new Error('email is not configured')
      try {
        const mail = await renderer.render(kind, variables, { requestId, origin })
        const submit = () => transport.send({ ...mail, to, id }, signal)
        if (!tracing) await submit()
        else await tracing.span('smtp', { kind: 'client', attributes: { 'auth.mail.kind': kind } }, submit)
        observer.mailTried(kind, 'sent')
      } catch (error) {
        observer.mailTried(kind, 'failed')
        throw outcomeOf(error)
      }
    },
    close() {
      transport?.close()
      return Promise.resolve()
    },
  }
}

function outcomeOf(error: unknown): unknown {
  if (error instanceof MailRefusedError) return new UndeliverableError(error.message)
  if (error instanceof MailUnansweredError)
    return new UnknownOutcomeError(error.message, { cause: error.cause })
  return error
}
