import { deliveryStatus, type RetrySchedule } from '@signet/webhook-core'
import type { DeliveryJob } from '@signet/webhook-core/queue'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import { newAttemptKey, type AttemptResult, type RecordedAttempt } from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { Claim, EndpointLimiter } from '../fairness/endpoint-limiter.js'
import type { Observer } from '../observers/observer.js'
import type { BodyCache, LentBody } from './body-cache.js'
import type { DeferredJobs } from './deferred-jobs.js'
import type { DueDeliveries } from './due-deliveries.js'
import { outcomeOf, type JobOutcome } from './job-outcome.js'
import type { LostRuns } from './lost-runs.js'
import { PermitLease } from './permit-lease.js'
import { attemptOf, recordResult } from './record-result.js'
import type { ResultRecorder, WithoutRow } from './result-recorder.js'
import { decideRetry } from './retry-decision.js'
import { sendAttempt, type Sending, type SendingDeps } from './send-attempt.js'
import type { SnapshotFreshness } from './snapshot-freshness.js'
import { isBanned, type KnownDelivery } from './snapshot-rules.js'
import type { UnrecordedRequests } from './unrecorded-requests.js'
import type { UnwrittenEvent } from './unwritten-event.js'

export type JobHistory = {
  /** How many runs of this job were lost; set only if the last one was. Its probable attempt is recorded first. */
  losses?: number
  /** The job has been deferred before. */
  wasDeferred: boolean
}

/** `readAt`: when the statement that read the snapshot began, by `performance.now()`. */
export type FirstAttempt = {
  readAt: number
  /** The event of a delivery that has no row yet. */
  unwritten?: UnwrittenEvent | undefined
  /** Counts the request from before it is sent until its result is recorded. */
  requests?: UnrecordedRequests | undefined
  /** Called when the permit is released, or when there was none to get. */
  onSent?: (() => void) | undefined
}

/** What an attempt has before it is sent. */
type Request = { lent: LentBody; lease: PermitLease } & Pick<FirstAttempt, 'unwritten' | 'requests'>

export type AttemptDeps = SendingDeps & {
  due: DueDeliveries
  lostRuns: LostRuns
  limiter: EndpointLimiter
  deferredJobs: Pick<DeferredJobs, 'deferred' | 'attempted'>
  bodies: BodyCache
  recorder: ResultRecorder
  freshness: SnapshotFreshness
  schedule: RetrySchedule
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Observer
}

/**
 * Our own mistakes must not use up a customer's attempts, so the delivery waits until an operator has configured the key of its secret, or
 * until the egress proxy works again.
 */
const WAITS_FOR_US: JobOutcome = { kind: 'defer', delayMs: 60_000 }

/**
 * Makes one attempt of one delivery: acquires a permit, reads the row and the body, sends, records the result, and says what to do with
 * the job.
 */
export class AttemptService {
  constructor(private readonly deps: AttemptDeps) {}

  /** Runs a job of the `deliveries` queue. */
  async run(
    { deliveryId, ...claim }: DeliveryJob,
    { losses = 0, wasDeferred }: JobHistory,
  ): Promise<JobOutcome> {
    const known = { id: deliveryId, endpointId: claim.endpointId }
    // Needs no permit: a job that is deferred for lack of one runs again without its losses.
    const ended = losses > 0 ? await this.deps.lostRuns.report(known, losses) : undefined
    return ended ?? this.#withPermit(claim, wasDeferred, (lease) => this.#readAndAttempt(known, lease))
  }

  /** Makes the first attempt of a delivery, with the snapshot that was read when its event was dispatched. */
  runFirst(snapshot: DeliverySnapshot, first: FirstAttempt): Promise<JobOutcome> {
    const { readAt, unwritten, requests, onSent } = first
    const { id: endpointId, accountId, deleted } = snapshot.endpoint
    const work = (lease: PermitLease) =>
      this.#withBody(snapshot, async (lent) => {
        const isFresh = this.deps.freshness.isFresh(endpointId, readAt)
        if (isFresh && !deleted && !isBanned(snapshot, this.deps.now()))
          return this.#attempt(snapshot, 1, { lent, lease, unwritten, requests })
        await unwritten?.write()
        const known = { id: snapshot.id, endpointId, eventId: snapshot.eventId }
        return this.#readAndSend(known, { lent, lease, requests })
      })
    return this.#withPermit({ endpointId, accountId }, false, work, onSent)
  }

  async #withPermit(
    claim: Claim,
    wasDeferred: boolean,
    work: (lease: PermitLease) => Promise<JobOutcome>,
    onSent?: () => void,
  ): Promise<JobOutcome> {
    const { limiter, deferredJobs, observer } = this.deps
    const acquired = await limiter.acquire(claim, { wasDeferred })
    if (!('permit' in acquired)) {
      onSent?.()
      observer.deferred(acquired.reason)
      deferredJobs.deferred(claim.endpointId)
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

  /** Reads the row only after the permit was acquired: nothing stale is sent, however long the wait was. */
  async #readAndAttempt(known: KnownDelivery, lease: PermitLease): Promise<JobOutcome> {
    const due = await this.deps.due.find(known)
    if (!('snapshot' in due)) return due.outcome
    const readAt = performance.now()
    return this.#withBody(due.snapshot, (lent) =>
      this.deps.freshness.isFresh(known.endpointId, readAt)
        ? this.#attemptDue(due.snapshot, { lent, lease })
        : this.#readAndSend(known, { lent, lease }),
    )
  }

  /**
   * Lends the body to `work`. A large body may have to wait for room in memory, and any other for the database. What was read before
   * may be too old by then.
   */
  async #withBody(
    { id, eventId, endpoint }: DeliverySnapshot,
    work: (lent: LentBody) => Promise<JobOutcome>,
  ): Promise<JobOutcome> {
    const { bodies, due, retryWhileUnavailable } = this.deps
    const lent = await retryWhileUnavailable(() => bodies.borrow(eventId, endpoint.accountId))
    if (!lent) return due.cancel(id, 'recording_deleted')
    return work(lent).finally(() => lent.release())
  }

  /** Reads the row again after the wait for the body, so that nothing is left to wait for. */
  async #readAndSend(known: KnownDelivery, request: Request): Promise<JobOutcome> {
    const due = await this.deps.due.find(known)
    return 'snapshot' in due ? this.#attemptDue(due.snapshot, request) : due.outcome
  }

  async #attemptDue(snapshot: DeliverySnapshot, request: Request): Promise<JobOutcome> {
    const { attempts, nextAttemptAt, endpoint } = snapshot
    const startedAt = this.deps.now()
    const outcome = await this.#attempt(snapshot, attempts + 1, request)
    if (outcome === WAITS_FOR_US) return outcome
    this.deps.deferredJobs.attempted(endpoint.id, { dueAt: nextAttemptAt, startedAt })
    return outcome
  }

  async #attempt(
    snapshot: DeliverySnapshot,
    number: number,
    { lent, lease, unwritten, requests }: Request,
  ): Promise<JobOutcome> {
    const { secrets, observer, now } = this.deps
    if (!secrets.hasKeysOf(snapshot.endpoint)) {
      observer.keyMissing(snapshot.id)
      return WAITS_FOR_US
    }
    const startedAt = now()
    const onRecorded = requests?.add(snapshot.endpoint.id)
    const { sent, ...sending } = await sendAttempt(this.deps, {
      snapshot,
      body: lent.body,
      at: startedAt,
      lease,
    }).finally(() => lent.release())
    if (sent.kind === 'unsent') {
      onRecorded?.()
      observer.deferred('proxy_failed')
      return WAITS_FOR_US
    }
    const withoutRow = unwritten && { snapshot, event: unwritten }
    const outcome = await this.#conclude(snapshot, { number, startedAt, sent, ...sending }, withoutRow)
    onRecorded?.()
    return outcome
  }

  async #conclude(
    snapshot: DeliverySnapshot,
    attempt: Sending & { number: number; startedAt: Date },
    withoutRow?: WithoutRow,
  ): Promise<JobOutcome> {
    const { recorder, schedule, observer, now } = this.deps
    const { number, sent, startedAt, finishedAt, facts, answer } = attempt
    const { id: endpointId, accountId } = snapshot.endpoint
    const result: AttemptResult = {
      ...attemptOf(snapshot, number),
      key: newAttemptKey(),
      outcome: decideRetry(sent, number, schedule),
      startedAt,
      finishedAt,
      httpStatus: sent.kind === 'answered' ? sent.status : undefined,
      facts,
      answer,
    }
    const recorded = await recordResult(recorder, result, accountId, withoutRow)
    if (recorded && isEndpointStopped(result, recorded)) this.deps.freshness.endpointStopped(endpointId)
    observer.attemptEnded({ snapshot, result, recorded })
    return outcomeOf(recorded, now())
  }
}

/** A delivery that failed with attempts left was cancelled: its endpoint is disabled or deleted, or its event was purged. */
const isEndpointStopped = ({ outcome }: AttemptResult, { status, disabledEndpoint }: RecordedAttempt) =>
  disabledEndpoint || (outcome.kind === 'retry' && status === deliveryStatus.failed)
