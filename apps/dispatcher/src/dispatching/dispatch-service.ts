import { type Queryable } from '@signet/db'
import {
  dispatchEvents,
  findEvents,
  PAYLOAD_TARGET_BYTES,
  type Dispatched,
  type EncodedEvent,
  type EventId,
  type FrozenEvent,
  type QueuedEvent,
} from '@signet/webhook-core'
import { type BodyCache } from '../attempts/body-cache.js'
import { Batcher } from '../batching/batcher.js'
import { type Events } from '../events.js'

export type DispatchDeps = {
  db: Queryable
  /** Builds the body of each event; never rejects for missing parts. */
  build: (events: readonly QueuedEvent[]) => Promise<readonly FrozenEvent[]>
  bodies: BodyCache
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  events: Events
  now: () => Date
}

/** `readAt`: when the statement began that read the plans, by `performance.now()`. */
export type MadeDeliveries = Dispatched & { readAt: number }

const MAX_BATCH = 64
/**
 * Bodies of one batch, by the size of those before: the first of its deliveries waits until the last one's body is read
 * and written.
 */
const BATCH_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2
const PARALLEL = 1

/**
 * Turns events into deliveries (contract F.1): the body is built once and frozen, and one delivery per matching endpoint is
 * made in the same statement. Doing it twice changes nothing.
 */
export class DispatchService {
  private readonly batcher: Batcher<EventId, MadeDeliveries>
  /**
   * Of one body, in the latest batch. At first as if all were large: a process that ended for want of memory must not begin
   * with the very batch that was too large for it.
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

  /** Resolves when the event's deliveries are committed, with what is to be done about them. */
  run(id: EventId): Promise<MadeDeliveries> {
    return this.batcher.submit(id)
  }

  private async dispatch(ids: readonly EventId[]): Promise<MadeDeliveries[]> {
    const { db, build, patiently, now } = this.deps
    const found = await patiently(() => findEvents(db, ids))
    const built = encoded(await build(found.filter(({ state }) => state === 'queued')))
    if (built.length > 0)
      this.meanBytes = built.reduce((sum, { body }) => sum + body.byteLength, 0) / built.length
    const { created, left, readAt } = await patiently(async () => {
      const readAt = performance.now()
      return { readAt, ...(await dispatchEvents(db, [...built, ...alreadyDispatched(found)], now())) }
    })
    const byEvent = new Map(ids.map((id) => [id, nothing(readAt)]))
    for (const plan of created) byEvent.get(plan.eventId)?.created.push(plan)
    for (const delivery of left) byEvent.get(delivery.eventId)?.left.push(delivery)
    this.keepFrozen(built, byEvent)
    this.report(found, built, byEvent)
    // An id that was handed in twice has one result for both.
    return ids.map((id) => byEvent.get(id) ?? nothing(readAt))
  }

  /** Only bodies whose deliveries were made now: another process may have frozen the event first, with other parts in it. */
  private keepFrozen(
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
      this.deps.events.eventDispatched({
        eventId: id,
        eventType: event.type,
        deliveries: byEvent.get(id)?.created.length ?? 0,
        bytes: body.byteLength,
        ageMs: this.deps.now().getTime() - event.createdAt.getTime(),
      })
    }
  }
}

/** Once, for the table, the cache and the receivers. */
const encoded = (events: readonly FrozenEvent[]): (EncodedEvent & { body: Buffer })[] =>
  events.map(({ id, body }) => ({ id, body: Buffer.from(body) }))

const nothing = (readAt: number): MadeDeliveries => ({ created: [], left: [], readAt })

/**
 * An earlier run got as far as the commit: its body stays, and what is left of its deliveries is named again. Of a purged
 * event too: its recording may have been deleted in the moment they were made, and somebody has to end them.
 */
const alreadyDispatched = (events: readonly QueuedEvent[]): FrozenEvent[] =>
  events.filter(({ state }) => state !== 'queued').map(({ id }) => ({ id, body: '' }))
