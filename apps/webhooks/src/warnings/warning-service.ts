import type { Db } from '@signet/db'
import { DEFAULT_LANGUAGE, languageOfLocale } from '@signet/language'
import { MailRefusedError, type SmtpTransport } from '@signet/mail'
import { Periodic } from '@signet/periodic'
import pTimeout from 'p-timeout'
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
}

/** Emails being sent at once, and connections to the mail server. */
export const WARNINGS_AT_ONCE = 4
const POLL_MS = 5000
const ATTEMPT_MS = 30_000
/** Longer than an attempt: a row of a process that died is due again after this. */
const LEASE_SECONDS = 60
/** A warning that comes later than this says nothing about the present. */
const LIFE_HOURS = 24
const FIRST_DELAY_SECONDS = 30
const MAX_DELAY_SECONDS = 3600

/**
 * Sends the warnings that the dispatcher recorded (docs/specification.md#warnings), in any number of replicas. At
 * least once: if a process dies after the mail server took an email, it is sent again with the same Message-ID.
 */
export class WarningService {
  readonly #polls: Periodic

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

  /** Sends all that is due; resolves when it has had its attempt. */
  run(): Promise<void> {
    return this.#polls.request()
  }

  /** Resolves when the emails being sent are done; the rest is left to the next process. */
  async close(): Promise<void> {
    await this.#polls.stop()
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
    const outcome = await this.#send(warning).catch((error: unknown) => {
      webhookObserver.warningFailed(warning, error)
      return null
    })
    if (outcome === null) return deferWarning(db, warning, delayAfter(warning.attempts))
    if (await endWarning(db, warning, outcome)) webhookObserver.warningEnded(warning, outcome)
  }

  async #send(warning: ClaimedWarning): Promise<WarningOutcome> {
    const { identity, transport } = this.deps
    if (warning.resolved) return 'resolved'
    if (warning.expired) return 'expired'
    // Asked now, so that it is the current one, and nothing is kept here that a deletion would have to find.
    const mailbox = await identity.findMailbox(warning.accountId)
    if (mailbox === null) return 'no_address'
    const language =
      languageOfLocale(mailbox.locale) ?? languageOfLocale(warning.language) ?? DEFAULT_LANGUAGE
    try {
      const mail = { ...warningMail(warning, language, this.deps), to: mailbox.address, id: warning.id }
      await pTimeout(transport.send(mail), { milliseconds: ATTEMPT_MS })
    } catch (error) {
      if (error instanceof MailRefusedError) return 'refused'
      throw error
    }
    return 'sent'
  }
}

/** Up to 20% less, so that what failed together is not tried again together. */
const delayAfter = (attempts: number): number =>
  Math.min(FIRST_DELAY_SECONDS * 2 ** (attempts - 1), MAX_DELAY_SECONDS) * (1 - Math.random() / 5)
