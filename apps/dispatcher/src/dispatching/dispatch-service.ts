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
import { findEventSnapshots } from './first-attempt-store.js'
import { PendingRows } from './pending-rows.js'
import { LOCKED, untilUnlocked } from './until-unlocked.js'

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

/** Larger bodies are written separately from small ones, which then wait for a few hundred kilobytes at most. */
const LARGE_PREPARED_BYTES = 64 * 1024

type BySize<Outcome> = Record<'small' | 'large', Batches<DispatchItem, Outcome>>

/**
 * Turns events with a body into deliveries, one per matching endpoint. Idempotent. Reads nothing but the events and the
 * endpoints, and large events in separate statements, so no account can make it slow for the others.
 *
 * Most events are only read: the rows of their deliveries are written with the results of their first attempts
 * (docs/design.md#first-attempts). They never wait for a statement that writes. Rows are written first for events that were just
 * prepared, have no matching endpoint or some deliveries already, or whose job was lost once: what cannot be recorded must not be
 * sent again and again.
 */
export class DispatchService {
  readonly #reads: BySize<DispatchOutcome | undefined>
  readonly #writes: BySize<DispatchOutcome | typeof LOCKED>
  readonly #pendingRows: PendingRows
  readonly #size = new BatchSize()

  constructor(private readonly deps: DispatchDeps) {
    this.#reads = this.#bySize((items) => this.#findSnapshots(items))
    this.#writes = this.#bySize((items) => this.#dispatchInRows(items))
    this.#pendingRows = new PendingRows(deps)
  }

  async run(item: DispatchItem): Promise<DispatchOutcome> {
    const read = item.prepared || item.wasLost ? undefined : await addTo(this.#reads, item)
    return read ?? untilUnlocked(() => addTo(this.#writes, item))
  }

  #bySize<Outcome>(send: (items: readonly DispatchItem[]) => Promise<Outcome[]>): BySize<Outcome> {
    const oneByAccountInTurn = {
      send,
      shareOf: ({ accountId }: DispatchItem) => accountId,
      underWay: 1,
      slowMs: Infinity,
    }
    return {
      small: new Batches({
        ...oneByAccountInTurn,
        maxItems: () => this.#size.maxItems,
        lingerMs: LINGER_MS,
      }),
      large: new Batches({ ...oneByAccountInTurn, bytesOf, maxBytes: BATCH_BYTES }),
    }
  }

  /** Returns undefined for events whose rows have to be written first. */
  async #findSnapshots(items: readonly DispatchItem[]): Promise<(DispatchOutcome | undefined)[]> {
    const { db, retryWhileUnavailable } = this.deps
    const outcomes = new Map<EventId, DispatchOutcome>()
    const store = (snapshots: readonly DeliverySnapshot[]) => this.#pendingRows.write(snapshots)
    const byId = new Map(items.map((item) => [item.id, item]))
    const { readAt, events } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return { readAt, events: await findEventSnapshots(db, [...byId.keys()]) }
    })
    for (const { id, deliveries } of events) {
      const unwritten = new UnwrittenEvent(id, deliveries, store)
      outcomes.set(id, { created: deliveries, unwritten, unfinished: [], readAt })
    }
    this.#conclude(events, byId, outcomes)
    // Two jobs may have the same event. One of them makes its attempts, and the other has nothing to do.
    return items.map((item) => (byId.get(item.id) === item ? outcomes.get(item.id) : NOTHING))
  }

  async #dispatchInRows(items: readonly DispatchItem[]): Promise<(DispatchOutcome | typeof LOCKED)[]> {
    const { db, retryWhileUnavailable, now } = this.deps
    const byId = new Map<EventId, DispatchItem>()
    // The item with the body comes first, then the one that knows which attempts an earlier run may have made.
    for (const item of items) {
      const known = byId.get(item.id)
      if (!known || item.prepared || (item.wasLost && !known.prepared)) byId.set(item.id, item)
    }
    const rows = Array.from(byId.values(), ({ id, prepared }) => ({ id, ...prepared }))
    const { readAt, ...dispatched } = await retryWhileUnavailable(async () => {
      const readAt = performance.now()
      return { readAt, ...(await dispatchEvents(db, rows, now())) }
    })
    const outcomes = new Map<EventId, DispatchOutcome>()
    for (const id of byId.keys()) outcomes.set(id, { created: [], unfinished: [], readAt })
    for (const snapshot of dispatched.created) outcomes.get(snapshot.eventId)?.created.push(snapshot)
    for (const delivery of dispatched.unfinished) outcomes.get(delivery.eventId)?.unfinished.push(delivery)
    for (const event of dispatched.unprepared)
      outcomes.set(event.id, { created: [], unfinished: [], readAt, unprepared: event })
    this.#conclude(dispatched.events, byId, outcomes)
    const locked = new Set(dispatched.locked)
    // As for snapshots, only one of two jobs of an event makes its attempts.
    return items.map((item) => {
      if (locked.has(item.id)) return LOCKED
      return byId.get(item.id) === item ? (outcomes.get(item.id) ?? NOTHING) : NOTHING
    })
  }

  /** Caches only bodies that this statement dispatched: another process may have been first, with different content. */
  #conclude(
    events: readonly DispatchedEvent[],
    items: ReadonlyMap<EventId, DispatchItem>,
    outcomes: ReadonlyMap<EventId, DispatchOutcome>,
  ): void {
    const { bodies, observer, now } = this.deps
    /** Sizes of the bodies that share statements. Their mean decides how many share one. */
    const sizes: number[] = []
    for (const { id, type, createdAt, body: stored } of events) {
      const prepared = items.get(id)?.prepared
      const body = stored ?? prepared?.body
      if (!body) continue
      if (!isLarge({ bytes: items.get(id)?.bytes, prepared })) sizes.push(body.byteLength)
      const deliveries = outcomes.get(id)?.created.length ?? 0
      if (deliveries > 0) bodies.putFresh(id, body)
      const ageMs = now().getTime() - createdAt.getTime()
      observer.eventDispatched({ eventId: id, eventType: type, deliveries, bytes: body.byteLength, ageMs })
      if (stored === null && prepared?.unconverted) observer.unconverted(id, prepared.unconverted)
    }
    this.#size.learn(sizes)
  }
}

type Size = Pick<DispatchItem, 'bytes' | 'prepared'>

const bytesOf = ({ bytes, prepared }: Size): number => prepared?.body.byteLength ?? bytes ?? 0

/** The size of a body that was just built is known. For all others, the job says only whether it is 256 KiB or more. */
const isLarge = (item: Size): boolean => item.bytes !== undefined || bytesOf(item) > LARGE_PREPARED_BYTES

const addTo = <Outcome>({ small, large }: BySize<Outcome>, item: DispatchItem): Promise<Outcome> =>
  (isLarge(item) ? large : small).add(item)

const NOTHING: DispatchOutcome = { created: [], unfinished: [], readAt: 0 }
