import type { Queryable } from '@signet/db'
import { PAYLOAD_TARGET_BYTES, type EventId } from '@signet/webhook-core'
import { findEvents, type FrozenEvent, type QueuedEvent } from '../events/event-store.js'
import { dispatchEvents, type Dispatched, type EncodedEvent } from './dispatch-store.js'
import type { BodyCache } from '../attempts/body-cache.js'
import { Batcher } from '../batching/batcher.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { Observer } from '../observers/observer.js'

export type DispatchDeps = {
  db: Queryable
  /** Builds the body of each event; never rejects for missing parts. */
  build: (events: readonly QueuedEvent[]) => Promise<readonly FrozenEvent[]>
  bodies: BodyCache
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Observer
  now: () => Date
}

/** `readAt`: when the statement that read the plans began, by `performance.now()`. */
export type DispatchResult = Dispatched & { readAt: number }

const MAX_BATCH = 64
/** Target size of a batch: its first delivery has to wait until the body of the last one is read and written. */
const BATCH_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2
const PARALLEL = 1

/**
 * Turns events into deliveries: builds the body once, freezes it, and creates one delivery per matching endpoint in the
 * same statement. Idempotent.
 */
export class DispatchService {
  private readonly batcher: Batcher<EventId, DispatchResult>
  /**
   * Mean size of a body in the latest batch. Starts high: a process that ran out of memory must not start again with the
   * batch that was too large for it.
   */
  private meanBytes = PAYLOAD_TARGET_BYTES

  constructor(private readonly deps: DispatchDeps) {
    this.batcher = new Batcher({
      run: (ids) => this.dispatch(ids),
      maxItems: () => Math.min(MAX_BATCH, Math.max(1, Math.floor(BATCH_BYTES / this.meanBytes))),
      lingerMs: LINGER_MS,
      parallel: PARALLEL,
    })
  }

  /** Resolves when the event's deliveries are committed. */
  run(id: EventId): Promise<DispatchResult> {
    return this.batcher.submit(id)
  }

  private async dispatch(ids: readonly EventId[]): Promise<DispatchResult[]> {
    const { db, build, retryWhileUnavailable, now } = this.deps
    const found = await retryWhileUnavailable(() => findEvents(db, ids))
    const built = encoded(await build(found.filter(({ state }) => state === 'queued')))
    if (built.length > 0)
      this.meanBytes = built.reduce((sum, { body }) => sum + body.byteLength, 0) / built.length
    const { created, unfinished, readAt } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return { readAt, ...(await dispatchEvents(db, [...built, ...alreadyDispatched(found)], now())) }
    })
    const byEvent = new Map(ids.map((id) => [id, nothing(readAt)]))
    for (const plan of created) byEvent.get(plan.eventId)?.created.push(plan)
    for (const delivery of unfinished) byEvent.get(delivery.eventId)?.unfinished.push(delivery)
    this.cacheBodies(built, byEvent)
    this.report(found, built, byEvent)
    // An id that was submitted twice gets the same result twice.
    return ids.map((id) => byEvent.get(id) ?? nothing(readAt))
  }

  /** Only bodies that this statement froze: another process may have been first, with different content. */
  private cacheBodies(
    built: readonly { id: EventId; body: Buffer }[],
    byEvent: ReadonlyMap<EventId, Dispatched>,
  ): void {
    for (const { id, body } of built)
      if ((byEvent.get(id)?.created.length ?? 0) > 0) this.deps.bodies.put(id, body)
  }

  private report(
    found: readonly QueuedEvent[],
    built: readonly EncodedEvent[],
    byEvent: ReadonlyMap<EventId, Dispatched>,
  ): void {
    const facts = new Map(found.map((event) => [event.id, event]))
    for (const { id, body } of built) {
      const event = facts.get(id)
      if (!event) continue
      this.deps.observer.eventDispatched({
        eventId: id,
        eventType: event.type,
        deliveries: byEvent.get(id)?.created.length ?? 0,
        bytes: body.byteLength,
        ageMs: this.deps.now().getTime() - event.createdAt.getTime(),
      })
    }
  }
}

/** Encoded once, for the table, the cache and the receivers. */
const encoded = (events: readonly FrozenEvent[]): (EncodedEvent & { body: Buffer })[] =>
  events.map(({ id, body }) => ({ id, body: Buffer.from(body) }))

const nothing = (readAt: number): DispatchResult => ({ created: [], unfinished: [], readAt })

/**
 * An earlier run got as far as the commit: its body stays, and what is left of its deliveries is named again. Of a purged
 * event too: its recording may have been deleted in the moment they were made, and somebody has to end them.
 */
const alreadyDispatched = (events: readonly QueuedEvent[]): FrozenEvent[] =>
  events.filter(({ state }) => state !== 'queued').map(({ id }) => ({ id, body: '' }))
