import { Batches, type Queryable } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
import type { BodyCache } from '../attempts/body-cache.js'
import { BATCH_BYTES, BatchSize } from '../batching/batch-size.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { QueuedEvent } from '../events/event-store.js'
import type { Observer } from '../observers/observer.js'
import type { PreparedBody } from '../preparing/preparation.js'
import { UnwrittenEvent } from '../attempts/unwritten-event.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { dispatchEvents, type DispatchedEvent, type UnfinishedDelivery } from './dispatch-store.js'
import { findEventSnapshots, writeDeliveries } from './first-attempt-store.js'

export type DispatchDeps = {
  db: Queryable
  bodies: BodyCache
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Observer
  now: () => Date
}

/** `bytes`: about how large the event is, if it is large. */
export type DispatchItem = {
  id: EventId
  accountId: string
  bytes?: number
  prepared?: PreparedBody
  /** An earlier run may have attempted its deliveries. They get their rows before anything else. */
  wasLost?: boolean | undefined
}

export type DispatchOutcome = {
  /** Deliveries ready for their first attempt. */
  created: DeliverySnapshot[]
  /** Set if these have no rows yet. */
  unwritten?: UnwrittenEvent
  /** Deliveries that an earlier run left pending. */
  unfinished: UnfinishedDelivery[]
  /** When the statement that read the snapshots began, by `performance.now()`. */
  readAt: number
  /** Nothing was done, because the event has no body yet. */
  unprepared?: QueuedEvent
}

const LINGER_MS = 2

/** What became of the events of one batch. */
type Batch = { outcomes: Map<EventId, DispatchOutcome>; dispatched: DispatchedEvent[] }

/**
 * Turns events with a body into deliveries, one per matching endpoint. Idempotent. Reads nothing but the events and the
 * endpoints, and large events in statements of their own, so no account can make it slow for the others.
 *
 * Most events are only read: the rows of their deliveries are written with the results of their first attempts
 * (docs/design.md#first-attempts). Rows are written first for events that were just prepared, have no matching endpoint or some
 * deliveries already, or whose job was lost once: what cannot be recorded must not be sent again and again.
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

  run(item: DispatchItem): Promise<DispatchOutcome> {
    return (item.bytes === undefined ? this.#small : this.#large).add(item)
  }

  async #dispatch(items: readonly DispatchItem[]): Promise<DispatchOutcome[]> {
    // An id that was submitted twice gets the same result twice.
    const byId = new Map<EventId, DispatchItem>()
    for (const item of items) if (item.prepared || !byId.has(item.id)) byId.set(item.id, item)
    const all = [...byId.values()]
    const unwritten = await this.#findSnapshots(all.filter(({ prepared, wasLost }) => !prepared && !wasLost))
    const written = await this.#dispatchInRows(all.filter(({ id }) => !unwritten.outcomes.has(id)))
    this.#conclude(
      [...unwritten.dispatched, ...written.dispatched],
      byId,
      (id) => outcomeOf(id).created.length,
    )
    return items.map(({ id }) => outcomeOf(id))

    function outcomeOf(id: EventId): DispatchOutcome {
      return unwritten.outcomes.get(id) ?? written.outcomes.get(id) ?? NOTHING
    }
  }

  async #findSnapshots(items: readonly DispatchItem[]): Promise<Batch> {
    const { db, retryWhileUnavailable, now } = this.deps
    const outcomes = new Map<EventId, DispatchOutcome>()
    if (items.length === 0) return { outcomes, dispatched: [] }
    const store = (snapshots: readonly DeliverySnapshot[]) =>
      retryWhileUnavailable(() => writeDeliveries(db, snapshots, now()))
    const { readAt, events } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return {
        readAt,
        events: await findEventSnapshots(
          db,
          items.map(({ id }) => id),
        ),
      }
    })
    for (const { id, deliveries } of events) {
      const unwritten = new UnwrittenEvent(id, deliveries, store)
      outcomes.set(id, { created: deliveries, unwritten, unfinished: [], readAt })
    }
    return { outcomes, dispatched: events }
  }

  async #dispatchInRows(items: readonly DispatchItem[]): Promise<Batch> {
    const { db, retryWhileUnavailable, now } = this.deps
    const outcomes = new Map<EventId, DispatchOutcome>()
    if (items.length === 0) return { outcomes, dispatched: [] }
    const rows = items.map(({ id, prepared }) => ({ id, ...prepared }))
    const { readAt, ...dispatched } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return { readAt, ...(await dispatchEvents(db, rows, now())) }
    })
    for (const { id } of items) outcomes.set(id, { created: [], unfinished: [], readAt })
    for (const snapshot of dispatched.created) outcomes.get(snapshot.eventId)?.created.push(snapshot)
    for (const delivery of dispatched.unfinished) outcomes.get(delivery.eventId)?.unfinished.push(delivery)
    for (const event of dispatched.unprepared)
      outcomes.set(event.id, { created: [], unfinished: [], readAt, unprepared: event })
    return { outcomes, dispatched: dispatched.events }
  }

  /** Caches only bodies that this statement dispatched: another process may have been first, with different content. */
  #conclude(
    events: readonly DispatchedEvent[],
    items: ReadonlyMap<EventId, DispatchItem>,
    deliveriesOf: (id: EventId) => number,
  ): void {
    const { bodies, observer, now } = this.deps
    /** Sizes of events whose jobs did not say how large they are. */
    const sizes: number[] = []
    for (const { id, type, createdAt, body: stored } of events) {
      const prepared = items.get(id)?.prepared
      const body = stored ?? prepared?.body
      if (!body) continue
      if (items.get(id)?.bytes === undefined) sizes.push(body.byteLength)
      const deliveries = deliveriesOf(id)
      if (deliveries > 0) bodies.putFresh(id, body)
      const ageMs = now().getTime() - createdAt.getTime()
      observer.eventDispatched({ eventId: id, eventType: type, deliveries, bytes: body.byteLength, ageMs })
      if (stored === null && prepared?.unconverted) observer.unconverted(id, prepared.unconverted)
    }
    this.#size.learn(sizes)
  }
}

const NOTHING: DispatchOutcome = { created: [], unfinished: [], readAt: 0 }
