import { Queue, type DefaultJobOptions } from 'bullmq'
import { type Cluster, type Redis } from 'ioredis'
import { type DeliveryId, type EndpointId, type EventId } from '../ids.js'

/** Jobs carry ids only: no body, url, secret or token ever enters Redis (contract F.1). */
export type EventJob = { eventId: EventId }
/** The endpoint is named so that a worker can tell whether it has a place for the attempt without asking the database. */
export type DeliveryJob = { deliveryId: DeliveryId; endpointId: EndpointId }

/** `events`: build the body and make the deliveries. `deliveries`: one attempt each. */
export const queueNames = { events: 'events', deliveries: 'deliveries' } as const

/** With a hash tag, so that all keys of a queue lie in one slot of a Redis Cluster. */
export const DEFAULT_QUEUE_PREFIX = '{webhooks}'

/** Names the backoff that the dispatcher's workers implement: it reads the delay from the error of the attempt. */
export const DELIVERY_BACKOFF = 'delivery'

/**
 * Deterministic, so that adding a job twice is harmless. A job id may not contain `:` nor be all digits. The two queues
 * must not keep finished jobs: an id that still exists, even as failed, silently swallows the next add.
 */
export const eventJobId = (id: EventId): string => id
export const deliveryJobId = (id: DeliveryId): string => `dlv_${id}`

const jobOptions: DefaultJobOptions = {
  removeOnComplete: true,
  removeOnFail: true,
  // The table counts the attempts that matter; a job ends when its row does. Failures of our own back off without limit.
  attempts: 2 ** 31 - 1,
  backoff: { type: DELIVERY_BACKOFF },
}

export type QueueSettings = { connection: Redis | Cluster; prefix?: string }
export type DueDelivery = { id: DeliveryId; endpointId: EndpointId; delayMs?: number }

/** The two queues. Redis is only the schedule: whatever is lost here is found again by the sweeper. */
export class WebhookQueues {
  readonly events: Queue<EventJob, void, typeof queueNames.events>
  readonly deliveries: Queue<DeliveryJob, void, typeof queueNames.deliveries>

  readonly #connection: Redis | Cluster

  constructor({ connection, prefix = DEFAULT_QUEUE_PREFIX }: QueueSettings) {
    const options = { connection, prefix, defaultJobOptions: jobOptions }
    this.#connection = connection
    this.events = new Queue(queueNames.events, options)
    this.deliveries = new Queue(queueNames.deliveries, options)
    // The maker of the connection hears of its errors; without a listener here BullMQ prints them.
    this.events.on('error', () => undefined)
    this.deliveries.on('error', () => undefined)
  }

  /** Announces committed events. Rejects when Redis is away; the row is enough, so callers may ignore that. */
  async addEvents(ids: readonly EventId[]): Promise<void> {
    if (ids.length === 0) return
    this.#requireRedis()
    await this.events.addBulk(
      ids.map((eventId) => ({
        name: queueNames.events,
        data: { eventId },
        opts: { jobId: eventJobId(eventId) },
      })),
    )
  }

  /** Schedules attempts, at once or after `delayMs`. Rejects when Redis is away. */
  async addDeliveries(due: readonly DueDelivery[]): Promise<void> {
    if (due.length === 0) return
    this.#requireRedis()
    await this.deliveries.addBulk(
      due.map(({ id, endpointId, delayMs = 0 }) => ({
        name: queueNames.deliveries,
        data: { deliveryId: id, endpointId },
        opts: { jobId: deliveryJobId(id), delay: delayMs },
      })),
    )
  }

  /** Lets no worker take a job, or lets them again. Rejects when Redis is away. */
  async setPaused(paused: boolean): Promise<void> {
    this.#requireRedis()
    for (const queue of [this.events, this.deliveries]) {
      if ((await queue.isPaused()) === paused) continue
      await (paused ? queue.pause() : queue.resume())
    }
  }

  get isConnected(): boolean {
    return this.#connection.status === 'ready'
  }

  /** BullMQ would wait for the first connection as long as it takes. */
  #requireRedis(): void {
    if (!this.isConnected) throw new Error('Redis is not connected')
  }

  /** Closes the queues, not the connection, which its maker closes. */
  async close(): Promise<void> {
    await Promise.all([this.events.close(), this.deliveries.close()])
  }
}
