import { Batches, type Queryable } from '@signet/db'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import type { DueDelivery, WebhookQueues } from '@signet/webhook-core/queue'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { UnfinishedDelivery } from './dispatch-store.js'
import { concludeFirstAttempts, scheduleDeliveries } from './first-attempt-store.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { DispatchOutcome } from './dispatch-service.js'
import { LOCKED, untilUnlocked } from './until-unlocked.js'
import type { BodyCache } from '../attempts/body-cache.js'
import type { AttemptService, FirstAttempt } from '../attempts/attempt-service.js'
import type { LostRuns } from '../attempts/lost-runs.js'
import { mayHaveSent, type Unrecorded, type UnrecordedRequests } from '../attempts/unrecorded-requests.js'

export type FirstAttemptsDeps = {
  db: Queryable
  attempts: Pick<AttemptService, 'runFirst'>
  lostRuns: Pick<LostRuns, 'reportFirst'>
  queues: Pick<WebhookQueues, 'addDeliveries'>
  bodies: Pick<BodyCache, 'drop' | 'firstAttemptsEnded'>
  retryWhileUnavailable: RetryWhileUnavailable
  now: () => Date
}

/** A delivery that continues under its own job. `isScheduled`: its row already says when it is due. */
type Continuation = Required<DueDelivery> & { isScheduled: boolean }

const MAX_BATCH = 200
const ENQUEUE_LINGER_MS = 2
/** Nothing waits for it, and the sweeper repeats it if it gets lost. */
const CONCLUDE_LINGER_MS = 50
/** A delivery that takes longer than this is written as pending, so that its owner sees it within a second. */
const WRITE_AFTER_MS = 500

const NOTHING: Unrecorded = new Set()
const NOTHING_LOCKED: ReadonlySet<DeliveryId> = new Set()

export type FirstAttemptsRun = {
  requests?: UnrecordedRequests | undefined
  /** Called for each new delivery when its permit is released, or when it could not get one. */
  onSent?: () => void
  /** Deliveries to these endpoints may have been attempted by an earlier run of the event's job. */
  unrecorded?: Unrecorded
}

/**
 * The first attempts of an event, made under the event's own job: its lock protects them, and a delivery that succeeds at
 * once never needs a job. Deliveries that fail or cannot get a permit continue in the `deliveries` queue.
 */
export class FirstAttempts {
  readonly #continuations: Batches<Continuation, typeof LOCKED | undefined>
  readonly #conclusions: Batches<EventId, undefined>
  #lastConclusion: Promise<unknown> = Promise.resolve()

  constructor(private readonly deps: FirstAttemptsDeps) {
    const { db, retryWhileUnavailable } = deps
    this.#continuations = new Batches({
      send: async (batch) => {
        const locked = await this.#enqueue(batch)
        return batch.map(({ id }) => (locked.has(id) ? LOCKED : undefined))
      },
      maxItems: MAX_BATCH,
      lingerMs: ENQUEUE_LINGER_MS,
      underWay: 1,
      slowMs: Infinity,
    })
    this.#conclusions = new Batches({
      send: async (ids) => {
        await retryWhileUnavailable(() => concludeFirstAttempts(db, ids))
        return ids.map(() => undefined)
      },
      maxItems: MAX_BATCH,
      lingerMs: CONCLUDE_LINGER_MS,
      underWay: 1,
      slowMs: Infinity,
    })
  }

  /** Resolves when each delivery of the event has ended or has its own job. */
  async run(
    eventId: EventId,
    { created, unwritten, unfinished, readAt }: DispatchOutcome,
    { requests, onSent, unrecorded = NOTHING }: FirstAttemptsRun = {},
  ): Promise<void> {
    if (created.length + unfinished.length === 0) return
    // If it fails, the code that needs the rows gets the error, and the job fails with it.
    const slow = setTimeout(() => void unwritten?.write().catch(() => undefined), WRITE_AFTER_MS)
    const settled = await Promise.allSettled([
      ...created.map((snapshot) =>
        mayHaveSent(unrecorded, snapshot.endpoint.id)
          ? this.#reportLost(snapshot.id, snapshot.endpoint)
          : this.#attempt(snapshot, { readAt, unwritten, requests, onSent }),
      ),
      ...unfinished.map((delivery) => this.#continue(delivery, mayHaveSent(unrecorded, delivery.endpointId))),
    ])
    clearTimeout(slow)
    this.deps.bodies.firstAttemptsEnded(eventId)
    const failed = settled.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    if (settled.every((result) => result.status === 'fulfilled' && result.value === 'ended'))
      this.deps.bodies.drop(eventId)
    if (unwritten) {
      // The last result made the event dispatched. Without rows it was never listed in `webhook_first_attempts`, so nothing is left to do.
      if (unwritten.isDispatched && !unwritten.isListed) return
      // Results that were recorded in parallel, because their batch failed, cannot tell which of them is the last.
      await unwritten.write()
    }
    // Not awaited: the job is done, and the next event should not have to wait for this.
    this.#lastConclusion = this.#conclusions.add(eventId).catch(() => undefined)
  }

  /** Resolves once every event whose first attempts have ended is marked as such. */
  async concluded(): Promise<void> {
    await this.#lastConclusion
  }

  async #attempt(snapshot: DeliverySnapshot, first: FirstAttempt): Promise<'ended' | undefined> {
    const outcome = await this.deps.attempts.runFirst(snapshot, first)
    if (outcome.kind === 'finished') return 'ended'
    const isScheduled = outcome.kind === 'retry'
    if (!isScheduled) await first.unwritten?.write()
    const { id, accountId } = snapshot.endpoint
    await this.#continueInQueue({
      id: snapshot.id,
      endpointId: id,
      accountId,
      delayMs: outcome.delayMs,
      isScheduled,
    })
    return undefined
  }

  async #continue(unfinished: UnfinishedDelivery, mayBeSent: boolean): Promise<void> {
    const { id, endpointId, accountId, dueAt, isHeld } = unfinished
    // Lifting the ban adds a job, or the sweeper does once the ban has expired. One made before would wait for the old end of it.
    if (isHeld) return
    const delivery = { id, endpointId, accountId }
    if (!mayBeSent || dueAt !== null) {
      await this.#continueInQueue({
        ...delivery,
        delayMs: this.#until(dueAt),
        isScheduled: dueAt !== null,
      })
      return
    }
    await this.#reportLost(id, { id: endpointId, accountId })
  }

  async #reportLost(id: DeliveryId, endpoint: { id: EndpointId; accountId: string }): Promise<void> {
    const outcome = await this.deps.lostRuns.reportFirst(id)
    if (outcome.kind === 'finished') return
    const { id: endpointId, accountId } = endpoint
    await this.#continueInQueue({ id, endpointId, accountId, delayMs: outcome.delayMs, isScheduled: true })
  }

  #continueInQueue(continuation: Continuation): Promise<undefined> {
    return untilUnlocked(() => this.#continuations.add(continuation))
  }

  /**
   * Updates the rows first. A delivery lost between the two steps is then overdue, and the sweeper finds it. Returns those that it left
   * out because their rows are locked.
   */
  async #enqueue(batch: readonly Continuation[]): Promise<ReadonlySet<DeliveryId>> {
    const { db, queues, retryWhileUnavailable, now } = this.deps
    const unscheduled = batch.flatMap(({ id, isScheduled }) => (isScheduled ? [] : id))
    const locked =
      unscheduled.length > 0
        ? await retryWhileUnavailable(() => scheduleDeliveries(db, unscheduled, now()))
        : NOTHING_LOCKED
    await queues.addDeliveries(batch.filter(({ id }) => !locked.has(id)))
    return locked
  }

  #until(dueAt: Date | null): number {
    return dueAt ? Math.max(0, dueAt.getTime() - this.deps.now().getTime()) : 0
  }
}
