import { type Queryable } from '@signet/db'
import {
  dispatchEvents,
  findEvents,
  type EncodedEvent,
  type EventId,
  type FrozenEvent,
  type NewDelivery,
  type QueuedEvent,
  type WebhookQueues,
} from '@signet/webhook-core'
import { type BodyCache } from '../attempts/body-cache.js'
import { Batcher } from '../batching/batcher.js'
import { type Events } from '../events.js'

export type DispatchDeps = {
  db: Queryable
  /** Builds the body of each event; never rejects for missing parts. */
  build: (events: readonly QueuedEvent[]) => Promise<readonly FrozenEvent[]>
  queues: WebhookQueues
  bodies: BodyCache
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  events: Events
  now: () => Date
}

const MAX_BATCH = 32
/**
 * Bodies of one batch, by the size of those before: while a large batch is read and written, nothing else is dispatched and
 * the first of its deliveries waits for the last one's body.
 */
const BATCH_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2
const PARALLEL = 1

/**
 * Turns events into deliveries (contract F.1): the body is built once and frozen, one delivery per matching endpoint is made
 * in the same statement, and only then are they put into the queue. Doing it twice changes nothing.
 */
export class DispatchService {
  private readonly batcher: Batcher<EventId, undefined>
  /** Of one body, in the latest batch. */
  private meanBytes = 0

  constructor(private readonly deps: DispatchDeps) {
    this.batcher = new Batcher({
      run: async (ids) => {
        await this.dispatch(ids)
        return ids.map(() => undefined)
      },
      maxItems: () => Math.min(MAX_BATCH, Math.max(1, Math.floor(BATCH_BYTES / this.meanBytes))),
      lingerMs: LINGER_MS,
      parallel: PARALLEL,
    })
  }

  /** Resolves when the event's deliveries are committed and in the queue. */
  async run(id: EventId): Promise<void> {
    await this.batcher.submit(id)
  }

  private async dispatch(ids: readonly EventId[]): Promise<void> {
    const { db, build, queues, patiently, now } = this.deps
    const found = await patiently(() => findEvents(db, ids))
    const built = encoded(await build(found.filter(({ state }) => state === 'queued')))
    if (built.length > 0)
      this.meanBytes = built.reduce((sum, { body }) => sum + body.byteLength, 0) / built.length
    const deliveries = await patiently(() => dispatchEvents(db, [...built, ...alreadyFrozen(found)], now()))
    // Before the jobs exist, so that whoever takes one here finds the body.
    for (const { id, body } of built) this.deps.bodies.put(id, body)
    await queues.addDeliveries(deliveries)
    this.report(found, built, deliveries)
  }

  private report(
    found: readonly QueuedEvent[],
    built: readonly EncodedEvent[],
    deliveries: readonly NewDelivery[],
  ): void {
    const facts = new Map(found.map((event) => [event.id, event]))
    for (const { id, body } of built) {
      const event = facts.get(id)
      if (!event) continue
      this.deps.events.eventDispatched({
        eventId: id,
        eventType: event.type,
        deliveries: deliveries.filter(({ eventId }) => eventId === id).length,
        bytes: body.byteLength,
        ageMs: this.deps.now().getTime() - event.createdAt.getTime(),
      })
    }
  }
}

/** Once, for the table, the cache and the receivers. */
const encoded = (events: readonly FrozenEvent[]): (EncodedEvent & { body: Buffer })[] =>
  events.map(({ id, body }) => ({ id, body: Buffer.from(body) }))

/** An earlier run got as far as the commit: its body stays, and its pending deliveries are named for the queue again. */
const alreadyFrozen = (events: readonly QueuedEvent[]): FrozenEvent[] =>
  events.filter(({ state }) => state === 'dispatched').map(({ id }) => ({ id, body: '' }))
