import { Batches, type Queryable } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
import type { BodyCache } from '../attempts/body-cache.js'
import { BATCH_BYTES, BatchSize } from '../batching/batch-size.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { QueuedEvent } from '../events/event-store.js'
import type { Observer } from '../observers/observer.js'
import type { PreparedBody } from '../preparing/preparation.js'
import { dispatchEvents, type Dispatched } from './dispatch-store.js'

export type DispatchDeps = {
  db: Queryable
  bodies: BodyCache
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Observer
  now: () => Date
}

/** `bytes`: about how large the event is, if it is large. */
export type DispatchItem = { id: EventId; accountId: string; bytes?: number; prepared?: PreparedBody }

/** `readAt`: when the statement that read the plans began, by `performance.now()`. */
export type DispatchResult = Pick<Dispatched, 'created' | 'unfinished'> & { readAt: number }
/** `unprepared`: nothing was done, because the event has no body yet. */
export type DispatchOutcome = DispatchResult & { unprepared?: QueuedEvent }

const LINGER_MS = 2

/**
 * Turns events with a body into deliveries, one per matching endpoint. Idempotent. Reads nothing but the events and the
 * endpoints, and large events in statements of their own, so no account can make it slow for the others.
 */
export class DispatchService {
  readonly #small: Batches<DispatchItem, DispatchOutcome>
  readonly #large: Batches<DispatchItem, DispatchOutcome>
  readonly #size = new BatchSize()

  constructor(private readonly deps: DispatchDeps) {
    const oneByAccountInTurn = {
      send: (items: readonly DispatchItem[]) => this.#dispatch(items),
      shareOf: ({ accountId }: DispatchItem) => accountId,
      underWay: 1,
      slowMs: Infinity,
    }
    this.#small = new Batches({
      ...oneByAccountInTurn,
      maxItems: () => this.#size.maxItems,
      lingerMs: LINGER_MS,
    })
    this.#large = new Batches({
      ...oneByAccountInTurn,
      bytesOf: ({ bytes = 0 }) => bytes,
      maxBytes: BATCH_BYTES,
    })
  }

  /** Resolves when the event's deliveries are committed. */
  run(item: DispatchItem): Promise<DispatchOutcome> {
    return (item.bytes === undefined ? this.#small : this.#large).add(item)
  }

  async #dispatch(items: readonly DispatchItem[]): Promise<DispatchOutcome[]> {
    const { db, retryWhileUnavailable, now } = this.deps
    // An id that was submitted twice gets the same result twice.
    const byId = new Map<EventId, DispatchItem>()
    for (const item of items) if (item.prepared || !byId.has(item.id)) byId.set(item.id, item)
    const events = [...byId.values()].map(({ id, prepared }) => ({ id, ...prepared }))
    const { readAt, ...dispatched } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return { readAt, ...(await dispatchEvents(db, events, now())) }
    })
    const outcomes = new Map<EventId, DispatchOutcome>()
    for (const id of byId.keys()) outcomes.set(id, { created: [], unfinished: [], readAt })
    for (const plan of dispatched.created) outcomes.get(plan.eventId)?.created.push(plan)
    for (const delivery of dispatched.unfinished) outcomes.get(delivery.eventId)?.unfinished.push(delivery)
    for (const event of dispatched.unprepared)
      outcomes.set(event.id, { created: [], unfinished: [], readAt, unprepared: event })
    this.#conclude(dispatched, byId, outcomes)
    return items.map(({ id }) => outcomes.get(id) ?? { created: [], unfinished: [], readAt })
  }

  /** Caches only bodies that this statement dispatched: another process may have been first, with different content. */
  #conclude(
    { events }: Dispatched,
    items: ReadonlyMap<EventId, DispatchItem>,
    outcomes: ReadonlyMap<EventId, DispatchOutcome>,
  ): void {
    const { bodies, observer, now } = this.deps
    /** Of the events whose sizes nobody knew. */
    const sizes: number[] = []
    for (const { id, type, createdAt, body: stored } of events) {
      const prepared = items.get(id)?.prepared
      const body = stored ?? prepared?.body
      if (!body) continue
      if (items.get(id)?.bytes === undefined) sizes.push(body.byteLength)
      const deliveries = outcomes.get(id)?.created.length ?? 0
      if (deliveries > 0) bodies.put(id, body)
      const ageMs = now().getTime() - createdAt.getTime()
      observer.eventDispatched({ eventId: id, eventType: type, deliveries, bytes: body.byteLength, ageMs })
      if (stored === null && prepared?.unconverted) observer.unconverted(id, prepared.unconverted)
    }
    this.#size.learn(sizes)
  }
}
