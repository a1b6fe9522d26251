import pTimeout from 'p-timeout'
import type { Db } from '@signet/db'
import type { AuditLog } from '../audit/audit-log.js'
import type { Observer } from '../observers/observer.js'
import {
  type GivenUpReason,
  type MessageOrigin,
  type OutboxHandler,
  UndeliverableError,
  UnknownOutcomeError,
} from './outbox-handler.js'
import type { ClaimedRow, OutboxStore } from './outbox-store.js'
import type { Outbox } from './outbox.js'
import type { SenderPresence } from './sender-presence.js'

export type OutboxWorkerDeps = {
  db: Db
  store: OutboxStore
  outbox: Outbox
  audit: AuditLog
  observer: Observer
  now: () => Date
  /** How long a sender that stops waits for the outcomes of its messages; 8 s by default. */
  stopMs?: number | undefined
}

/** How long a claim lasts if its sender reports nothing. */
export const claimMs = ({ attemptMs, reportMs = REPORT_MS }: OutboxHandler<object>): number =>
  attemptMs + reportMs

const REPORT_MS = 5000
/** Less time than a process has to stop. If the process ended with messages in flight, others would notice and send them again at once. */
const STOP_MS = 8000
const UNKNOWN_ORIGIN: MessageOrigin = { requestId: '', route: '', ip: '' }

/** Sends the messages of one kind: several at a time, but one per recipient, so that a slow receiver delays only its own. */
export class OutboxWorker {
  readonly #inFlight = new Map<string, { recipient: Buffer; done: Promise<void> }>()
  #pumping: Promise<void> | undefined
  #again = false
  #stopped = false
  /** Ends the attempts in flight. */
  readonly #cutOff = new AbortController()

  constructor(
    private readonly handler: OutboxHandler<object>,
    private readonly deps: OutboxWorkerDeps,
    private readonly presence: Pick<SenderPresence, 'key'>,
  ) {}

  get kind(): string {
    return this.handler.kind
  }

  /** Looks for due messages. If it is already looking, it looks again afterwards. */
  wake(): void {
    this.#again = true
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined
      if (this.#again && !this.#stopped && this.#hasCapacity) this.wake()
    })
  }

  get isBusy(): boolean {
    return this.#pumping !== undefined || this.#inFlight.size > 0
  }

  /** Resolves when every due message has been attempted. */
  async settled(): Promise<void> {
    while (this.isBusy) {
      await this.#pumping
      await Promise.all([...this.#inFlight.values()].map(({ done }) => done))
    }
  }

  /** Claims no more messages, and resolves when those in flight are done. Those that take too long are left for a later attempt. */
  async stop(): Promise<void> {
    this.#stopped = true
    const timer = setTimeout(
      () => this.#cutOff.abort(new UnknownOutcomeError('no outcome before the end of the process')),
      this.deps.stopMs ?? STOP_MS,
    )
    await this.settled()
    clearTimeout(timer)
  }

  get #hasCapacity(): boolean {
    return this.#inFlight.size < this.handler.concurrency
  }

  async #pump(): Promise<void> {
    while (this.#again && !this.#stopped && this.#hasCapacity) {
      this.#again = false
      try {
        while (this.#hasCapacity && !this.#stopped && (await this.#takeOne()));
      } catch (error) {
        // The database is unreachable; the next poll tries again.
        this.deps.observer.outboxUnreachable(this.kind, error)
        return
      }
    }
  }

  async #takeOne(): Promise<boolean> {
    const { store, db, now } = this.deps
    const { kind, ordered } = this.handler
    const at = now()
    const row = await store.claim(db, {
      kind,
      ordered,
      busy: [...this.#inFlight.values()].map(({ recipient }) => recipient),
      now: at,
      until: new Date(at.getTime() + claimMs(this.handler)),
      sender: this.presence.key,
    })
    if (row === null) return false
    const done = this.#attempt(row)
      .catch((error: unknown) => this.deps.observer.outboxUnreachable(kind, error))
      .finally(() => {
        this.#inFlight.delete(row.id)
        this.wake()
      })
    this.#inFlight.set(row.id, { recipient: row.recipient, done })
    return true
  }

  async #attempt(row: ClaimedRow): Promise<void> {
    const { outbox, store, db, observer, now } = this.deps
    const { id, attempts, createdAt, expiresAt } = row
    const opened = this.handler.plain ? openPlain(row) : outbox.open(row)
    if (opened === null) return this.#giveUp(row, UNKNOWN_ORIGIN, 'unreadable')
    if (isOver(expiresAt, now())) return this.#giveUp(row, opened.meta, 'expired')
    const given = new AbortController()
    try {
      const attempt = { id, attempt: attempts, createdAt, meta: opened.meta, signal: given.signal }
      await this.#outcome(this.handler.send(opened.payload, attempt))
    } catch (error) {
      given.abort()
      observer.messageAttemptFailed(this.kind, row, opened.meta.requestId, error)
      if (error instanceof UndeliverableError) return this.#giveUp(row, opened.meta, 'refused')
      const next = this.#nextAttempt(row, error)
      if (isOver(expiresAt, next)) return this.#giveUp(row, opened.meta, 'expired')
      const { ordered } = this.handler
      return db.transaction((tx) => store.defer(tx, row, { until: next, ordered }))
    }
    await store.remove(db, row)
    observer.messageSent(this.kind)
  }

  /** A receiver that never answers must not block a slot. If it does accept the message later, it gets a duplicate. */
  #outcome(sent: Promise<void>): Promise<void> {
    const { attemptMs: milliseconds } = this.handler
    const message = new UnknownOutcomeError(`no outcome in ${milliseconds} ms`)
    return pTimeout(sent, { milliseconds, message, signal: this.#cutOff.signal })
  }

  #nextAttempt({ attempts, expiresAt }: ClaimedRow, error: unknown): Date {
    const { unknownDelayMs = 0 } = this.handler
    const now = this.deps.now().getTime()
    const usual = now + this.handler.retryDelayMs(attempts)
    const late = new Date(Math.max(usual, now + unknownDelayMs))
    return error instanceof UnknownOutcomeError && !isOver(expiresAt, late) ? late : new Date(usual)
  }

  /** Removes the row, undoes what depended on it and writes the audit entry in one transaction. */
  async #giveUp(row: ClaimedRow, meta: MessageOrigin, reason: GivenUpReason): Promise<void> {
    const { store, audit, observer } = this.deps
    const isOurs = await audit.transaction(meta, async (tx, record) => {
      if (!(await store.remove(tx, row))) return false
      const named = row.undo === null ? {} : await this.handler.givenUp?.(tx, row.undo)
      const traits = { kind: this.kind, message_id: row.id, attempts: row.attempts, reason, ...named }
      record('message_given_up', { service: 'outbox' }, traits)
      return true
    })
    if (isOurs) observer.messageGivenUp(this.kind, reason)
  }
}

function openPlain({ payload }: ClaimedRow): ReturnType<Outbox['open']> {
  try {
    return { meta: UNKNOWN_ORIGIN, payload: JSON.parse(payload) as object }
  } catch {
    return null
  }
}

const isOver = (expiresAt: Date | null, now: Date): boolean => expiresAt !== null && expiresAt <= now
