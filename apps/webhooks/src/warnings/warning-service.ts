import type { Db } from '@signet/db'
import { DEFAULT_LANGUAGE, languageOfLocale } from '@signet/language'
import { MailRefusedError, MailUnansweredError, type OutgoingMail, type SmtpTransport } from '@signet/mail'
import { Periodic } from '@signet/periodic'
import pTimeout, { TimeoutError, type Options } from 'p-timeout'
import type { IdentityClient } from '../identity/identity-client.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import { warningMail, type WarningMailDeps } from './warning-mail.js'
import {
  claimWarnings,
  deferWarning,
  endWarning,
  type ClaimedWarning,
  type WarningOutcome,
} from './warning-store.js'

type Deps = WarningMailDeps & {
  db: Db
  identity: Pick<IdentityClient, 'findMailbox'>
  transport: SmtpTransport
  webhookObserver: WebhookObserver
  pollMs?: number
  /** The timers of the time limit of an attempt; Node's by default. */
  timers?: Options<never>['customTimers']
  /** How long `close` waits for the outcomes of emails that are being sent, in milliseconds. */
  closeMs?: number
}

/** Maximum number of emails that are sent at the same time, and of connections to the mail server. */
export const WARNINGS_AT_ONCE = 4
const POLL_MS = 5000
const ATTEMPT_MS = 30_000
/** Longer than an attempt. After this time, the row of a process that died is due again. */
const LEASE_SECONDS = 60
/** A warning that is later than this says nothing about the current state. */
const LIFE_HOURS = 24
const FIRST_DELAY_SECONDS = 30
const MAX_DELAY_SECONDS = 3600
/** Shortest wait after an attempt that may have succeeded: if the mail server was only slow, the next attempt sends the email twice. */
const UNKNOWN_DELAY_SECONDS = 60
/** Shorter than the time that a process has for stopping. */
const CLOSE_MS = 8000

/**
 * Sends the warnings that the dispatcher recorded (docs/specification.md#warnings), in any number of replicas. Sends them at least
 * once: if a process dies after the mail server accepted an email, the email is sent again with the same Message-ID.
 */
export class WarningService {
  readonly #polls: Periodic
  /** Ends the attempts in flight. */
  readonly #cutOff = new AbortController()

  constructor(private readonly deps: Deps) {
    this.#polls = new Periodic({
      everyMs: deps.pollMs ?? POLL_MS,
      run: (stopping) => this.#sendDue(stopping),
      onError: (error) => deps.webhookObserver.warningsUnreachable(error),
    })
  }

  start(): void {
    this.#polls.start()
  }

  /** Sends all warnings that are due. Resolves when each has had its attempt. */
  run(): Promise<void> {
    return this.#polls.request()
  }

  /** Resolves when the emails that are being sent are done. The rest is left to the next process. */
  async close(): Promise<void> {
    const timer = setTimeout(
      () => this.#cutOff.abort(new MailUnansweredError('no answer before the end of the process')),
      this.deps.closeMs ?? CLOSE_MS,
    )
    await this.#polls.stop()
    clearTimeout(timer)
    this.deps.transport.close()
  }

  async #sendDue(stopping: AbortSignal): Promise<void> {
    const claim = { limit: WARNINGS_AT_ONCE, leaseSeconds: LEASE_SECONDS, lifeHours: LIFE_HOURS }
    while (!stopping.aborted) {
      const warnings = await claimWarnings(this.deps.db, claim)
      await Promise.all(warnings.map((warning) => this.#attempt(warning)))
      if (warnings.length < WARNINGS_AT_ONCE) return
    }
  }

  async #attempt(warning: ClaimedWarning): Promise<void> {
    const { db, webhookObserver } = this.deps
    let outcome: WarningOutcome
    try {
      outcome = await this.#send(warning)
    } catch (error) {
      webhookObserver.warningFailed(warning, error)
      return deferWarning(db, warning, delayAfter(warning.attempts, error))
    }
    if (await endWarning(db, warning, outcome)) webhookObserver.warningEnded(warning, outcome)
  }

  async #send(warning: ClaimedWarning): Promise<WarningOutcome> {
    const { identity } = this.deps
    if (warning.resolved) return 'resolved'
    if (warning.expired) return 'expired'
    // Looks up the address now, so that it is current and no copy remains here that a deletion could miss.
    const mailbox = await identity.findMailbox(warning.accountId)
    if (mailbox === null) return 'no_address'
    const language =
      languageOfLocale(mailbox.locale) ?? languageOfLocale(warning.language) ?? DEFAULT_LANGUAGE
    try {
      await this.#submit({
        ...warningMail(warning, language, this.deps),
        to: mailbox.address,
        id: warning.id,
      })
    } catch (error) {
      if (error instanceof MailRefusedError) return 'refused'
      throw error
    }
    return 'sent'
  }

  async #submit(mail: OutgoingMail): Promise<void> {
    const { transport, timers: customTimers } = this.deps
    const given = new AbortController()
    const limits = { milliseconds: ATTEMPT_MS, signal: this.#cutOff.signal, customTimers }
    try {
      await pTimeout(transport.send(mail, given.signal), limits)
    } finally {
      given.abort()
    }
  }
}

/** Shortens the delay by up to 20%, so that emails that failed together are not retried together. */
function delayAfter(attempts: number, error: unknown): number {
  const delay = Math.min(FIRST_DELAY_SECONDS * 2 ** (attempts - 1), MAX_DELAY_SECONDS)
  const least = isUnknown(error) ? UNKNOWN_DELAY_SECONDS : 0
  return Math.max(delay * (1 - Math.random() / 5), least)
}

/** The mail server got the whole email, or the attempt timed out. */
const isUnknown = (error: unknown): boolean =>
  error instanceof MailUnansweredError || error instanceof TimeoutError
