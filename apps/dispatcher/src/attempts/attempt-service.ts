import type { Queryable } from '@signet/db'
import { deliveryStatus, type CancelReason, type DeliveryId, type RetrySchedule } from '@signet/webhook-core'
import type { DeliveryJob } from '@signet/webhook-core/queue'
import { newAttemptKey, type AttemptResult, type RecordedAttempt } from '../deliveries/attempt-store.js'
import { cancelDelivery, holdDelivery, type DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { Observer } from '../observers/observer.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { Claim, EndpointLimiter } from '../fairness/endpoint-limiter.js'
import type { BodyCache } from './body-cache.js'
import { PermitLease } from './permit-lease.js'
import { SnapshotFreshness } from './snapshot-freshness.js'
import { isSame, reasonToCancel, type KnownDelivery } from './snapshot-rules.js'
import type { ResultRecorder, WithoutRow } from './result-recorder.js'
import { decideRetry, decideRetryAfterLoss } from './retry-decision.js'
import { sendAttempt, type Sending, type SendingDeps } from './send-attempt.js'
import type { UnwrittenEvent } from './unwritten-event.js'

/** What to do with the job: it is done, retry it as scheduled, or defer it because nothing was attempted. */
export type JobOutcome =
  | { kind: 'finished' }
  | { kind: 'retry'; delayMs: number; reason: string }
  | { kind: 'defer'; delayMs: number }

export type JobHistory = {
  /** How many runs of this job were lost; set only if the last one was. Its probable attempt is recorded first. */
  losses?: number
  /** The job has been deferred before. */
  wasDeferred: boolean
}

/** Thrown after an attempt whose result could not be recorded. Who runs the job again reports it as lost, or it would not count. */
export class UnrecordedAttempt extends Error {
  override name = 'UnrecordedAttempt'
}

/** `readAt`: when the statement that read the snapshot began, by `performance.now()`. */
export type FirstAttempt = {
  readAt: number
  /** The event of a delivery that has no row yet. */
  unwritten?: UnwrittenEvent | undefined
  /** Called when the permit is released, or when there was none to get. */
  onSent?: (() => void) | undefined
}

export type AttemptDeps = SendingDeps & {
  db: Queryable
  limiter: EndpointLimiter
  /** The row of a delivery as it is now; null when it is gone. */
  findSnapshot: (id: DeliveryId) => Promise<DeliverySnapshot | null>
  bodies: BodyCache
  recorder: ResultRecorder
  schedule: RetrySchedule
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Observer
}

/** A delivery that is to be attempted now, or what else becomes of its job. */
type Due = { snapshot: DeliverySnapshot } | { outcome: JobOutcome }

const FINISHED: JobOutcome = { kind: 'finished' }
/** Clocks differ between machines. A job that is at most this early counts as on time. */
const EARLY_MS = 50
/** Somebody else is at it: has just recorded the same attempt, or is changing the ban. After this time its row says when to continue. */
const RECHECK_MS = 1000

/** One attempt of one delivery: acquire a permit, read the row, send, record the result, and say what to do with the job. */
export class AttemptService {
  readonly #freshness = new SnapshotFreshness()

  constructor(private readonly deps: AttemptDeps) {}

  /** Runs a job of the `deliveries` queue. */
  async run(
    { deliveryId, ...claim }: DeliveryJob,
    { losses = 0, wasDeferred }: JobHistory,
  ): Promise<JobOutcome> {
    const known = { id: deliveryId, endpointId: claim.endpointId }
    // Without a permit, because a job that is deferred runs again without its losses.
    const ended = losses > 0 ? await this.#reportLostRun(known, losses) : undefined
    return ended ?? this.#withPermit(claim, wasDeferred, (lease) => this.#readAndAttempt(known, lease))
  }

  /** The first attempt of a delivery, with the snapshot that was read when its event was dispatched. */
  runFirst(snapshot: DeliverySnapshot, { readAt, unwritten, onSent }: FirstAttempt): Promise<JobOutcome> {
    const work = async (lease: PermitLease) => {
      const isFresh = this.#freshness.isFresh(snapshot.endpoint.id, readAt)
      if (isFresh && !snapshot.endpoint.deleted && !this.#isBanned(snapshot))
        return this.#attempt(snapshot, 1, lease, unwritten)
      await unwritten?.write()
      return this.#readAndAttempt({ id: snapshot.id, endpointId, eventId: snapshot.eventId }, lease)
    }
    const { id: endpointId, accountId } = snapshot.endpoint
    return this.#withPermit({ endpointId, accountId }, false, work, onSent)
  }

  /**
   * A first attempt whose event lost its worker. It may have been made, so it is logged and counts; the next one follows at
   * once. Nothing is written before an attempt, so one that was not made yet counts as well.
   */
  async reportLostFirst(deliveryId: DeliveryId): Promise<JobOutcome> {
    const snapshot = await this.deps.findSnapshot(deliveryId)
    if (snapshot?.status !== deliveryStatus.pending) return FINISHED
    // Its worker lives, and has just recorded it: in a row that this process wrote, so the delivery goes on here.
    if (snapshot.attempts > 0 && snapshot.nextAttemptAt !== null)
      return this.#retryAt(snapshot.nextAttemptAt, '')
    if (snapshot.attempts > 0 || snapshot.nextAttemptAt !== null) return FINISHED
    return this.#outcomeOf(await this.#reportLost(snapshot, 1))
  }

  async #withPermit(
    claim: Claim,
    wasDeferred: boolean,
    work: (lease: PermitLease) => Promise<JobOutcome>,
    onSent?: () => void,
  ): Promise<JobOutcome> {
    const { limiter, observer } = this.deps
    const acquired = await limiter.acquire(claim, wasDeferred)
    if (!('permit' in acquired)) {
      onSent?.()
      observer.deferred(acquired.reason)
      return { kind: 'defer', delayMs: acquired.deferMs }
    }
    observer.inFlight(limiter.size)
    const lease = new PermitLease(acquired.permit, onSent)
    try {
      return await work(lease)
    } finally {
      lease.release()
      observer.inFlight(limiter.size)
    }
  }

  /** Read only with the permit in hand: nothing stale is sent, however long the wait was. */
  async #readAndAttempt(known: KnownDelivery, lease: PermitLease): Promise<JobOutcome> {
    const due = await this.#findDue(known)
    return 'snapshot' in due ? this.#attempt(due.snapshot, due.snapshot.attempts + 1, lease) : due.outcome
  }

  async #findDue(known: KnownDelivery): Promise<Due> {
    const { findSnapshot, now, observer } = this.deps
    const snapshot = await findSnapshot(known.id)
    if (snapshot?.status !== deliveryStatus.pending || !isSame(snapshot, known)) {
      observer.attemptSkipped(known.id, 'not_pending')
      return { outcome: FINISHED }
    }
    const cancelled = reasonToCancel(snapshot)
    if (cancelled) return { outcome: await this.#cancel(snapshot.id, cancelled) }
    if (this.#isBanned(snapshot)) {
      const hold = await this.#hold(snapshot)
      if (hold === 'held') return { outcome: FINISHED }
      if (hold === 'changing') return { outcome: { kind: 'defer', delayMs: RECHECK_MS } }
      // Lifted since the snapshot was read, and the delivery is due at another time.
      return this.#findDue(known)
    }
    const earlyMs = (snapshot.nextAttemptAt?.getTime() ?? 0) - now().getTime()
    // The row decides when the next attempt is due. A job that runs again after losing its lock must not jump the schedule.
    return earlyMs > EARLY_MS ? { outcome: { kind: 'defer', delayMs: earlyMs } } : { snapshot }
  }

  /** Undefined if the next attempt follows at once. */
  async #reportLostRun(known: KnownDelivery, losses: number): Promise<JobOutcome | undefined> {
    const due = await this.#findDue(known)
    if (!('snapshot' in due)) return due.outcome
    const reported = await this.#reportLost(due.snapshot, losses)
    const isOver = reported?.status !== deliveryStatus.pending
    return isOver || losses > 1 ? this.#outcomeOf(reported) : undefined
  }

  async #attempt(
    snapshot: DeliverySnapshot,
    number: number,
    lease: PermitLease,
    unwritten?: UnwrittenEvent,
  ): Promise<JobOutcome> {
    const { bodies, retryWhileUnavailable, now } = this.deps
    const lent = await retryWhileUnavailable(() =>
      bodies.borrow(snapshot.eventId, snapshot.endpoint.accountId),
    )
    if (!lent) return this.#cancel(snapshot.id, 'recording_deleted')
    const startedAt = now()
    const sending = await sendAttempt(this.deps, { snapshot, body: lent.body, at: startedAt, lease }).finally(
      () => lent.release(),
    )
    return this.#conclude(
      snapshot,
      { number, startedAt, ...sending },
      unwritten && { snapshot, event: unwritten },
    )
  }

  async #conclude(
    snapshot: DeliverySnapshot,
    attempt: Sending & { number: number; startedAt: Date },
    withoutRow?: WithoutRow,
  ): Promise<JobOutcome> {
    const { number, sent, startedAt, finishedAt, facts, answer } = attempt
    const outcome = decideRetry(sent, number, this.deps.schedule)
    const httpStatus = sent.kind === 'answered' ? sent.status : undefined
    const result: AttemptResult = {
      ...this.#resultOf(snapshot, number),
      key: newAttemptKey(),
      outcome,
      startedAt,
      finishedAt,
      httpStatus,
      facts,
      answer,
    }
    const recorded = await this.#record(result, snapshot.endpoint.accountId, withoutRow)
    if (recorded && isEndpointStopped(result, recorded)) this.#freshness.endpointStopped(snapshot.endpoint.id)
    this.deps.observer.attemptEnded({ snapshot, result, recorded })
    return this.#outcomeOf(recorded)
  }

  #outcomeOf(recorded: RecordedAttempt | null): JobOutcome {
    if (recorded?.status !== deliveryStatus.pending) return FINISHED
    if (!recorded.nextAttemptAt) return { kind: 'defer', delayMs: RECHECK_MS }
    return this.#retryAt(recorded.nextAttemptAt, recorded.lastError)
  }

  #retryAt(at: Date, reason: string): JobOutcome {
    return { kind: 'retry', delayMs: Math.max(1, at.getTime() - this.deps.now().getTime()), reason }
  }

  #isBanned({ endpoint }: DeliverySnapshot): boolean {
    return endpoint.heldUntil !== null && endpoint.heldUntil > this.deps.now()
  }

  /** Makes no attempt and leaves no job: lifting the ban adds one, or the sweeper does once the ban has expired. */
  async #hold({ id, endpoint: { accountId } }: DeliverySnapshot) {
    const { db, retryWhileUnavailable, observer, now } = this.deps
    const hold = await retryWhileUnavailable(() => holdDelivery(db, { id, accountId, now: now() }))
    if (hold === 'held') observer.attemptSkipped(id, 'account_banned')
    return hold
  }

  /** Logs and counts an attempt that a dead worker probably made. */
  async #reportLost(snapshot: DeliverySnapshot, losses: number): Promise<RecordedAttempt | null> {
    const { schedule, now, observer } = this.deps
    const number = snapshot.attempts + 1
    const at = now()
    const result: AttemptResult = {
      ...this.#resultOf(snapshot, number),
      key: null,
      outcome: decideRetryAfterLoss(losses, number, schedule),
      startedAt: snapshot.nextAttemptAt ?? snapshot.createdAt,
      finishedAt: at,
    }
    const recorded = await this.#record(result, snapshot.endpoint.accountId)
    observer.attemptEnded({ snapshot, result, recorded })
    return recorded
  }

  async #record(...item: Parameters<ResultRecorder['record']>): Promise<RecordedAttempt | null> {
    return this.deps.recorder.record(...item).catch((cause: unknown) => {
      throw new UnrecordedAttempt('the result of an attempt could not be recorded', { cause })
    })
  }

  #resultOf(snapshot: DeliverySnapshot, number: number) {
    return {
      deliveryId: snapshot.id,
      endpointId: snapshot.endpoint.id,
      eventId: snapshot.eventId,
      urlVersion: snapshot.endpoint.urlVersion,
      number,
    }
  }

  async #cancel(id: DeliveryId, reason: CancelReason): Promise<JobOutcome> {
    const { db, retryWhileUnavailable, observer } = this.deps
    await retryWhileUnavailable(() => cancelDelivery(db, id, reason))
    observer.attemptSkipped(id, reason)
    return FINISHED
  }
}

/** A delivery that failed with attempts left was cancelled: its endpoint is disabled or deleted, or its event was purged. */
const isEndpointStopped = ({ outcome }: AttemptResult, { status, disabledEndpoint }: RecordedAttempt) =>
  disabledEndpoint || (outcome.kind === 'retry' && status === deliveryStatus.failed)
