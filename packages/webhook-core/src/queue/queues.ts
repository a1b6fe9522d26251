import { Queue, type DefaultJobOptions } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import type { DeliveryId, EndpointId, EventId } from '../ids.js'
import { DEFAULT_QUEUE_PREFIX } from './default-prefix.js'
import { PublishPriority, type PublishedEvent } from './publish-priority.js'

/** Jobs contain only ids: no body, URL, secret or token is ever stored in Redis. */
export type EventJob = { eventId: EventId; accountId: string }
/** Includes the endpoint so that a worker can ask for a permit without reading the database. */
export type DeliveryJob = { deliveryId: DeliveryId; endpointId: EndpointId }

/** `events`: build the body, create the deliveries and make their first attempts. `deliveries`: one later attempt each. */
export const queueNames = { events: 'events', deliveries: 'deliveries' } as const

/** Name of the backoff strategy that the dispatcher's workers implement. It takes the delay from the attempt's error. */
export const DELIVERY_BACKOFF = 'delivery'

/**
 * Deterministic, so that adding a job twice is harmless. A job id must not contain `:` or consist only of digits. The queues
 * must not keep finished jobs: BullMQ silently ignores a job whose id still exists, even if it failed.
 */
export const eventJobId = (id: EventId): string => id
export const deliveryJobId = (id: DeliveryId): string => `dlv_${id}`

const jobOptions: DefaultJobOptions = {
  removeOnComplete: true,
  removeOnFail: true,
  // The table counts attempts, and a job ends when its row does. Failures on our side are retried without limit.
  attempts: 2 ** 31 - 1,
  backoff: { type: DELIVERY_BACKOFF },
}

/** `bytes`: about how much of it has to be read and sent, if the caller knows. */
export type EventToPublish = PublishedEvent & { id: EventId }
export type QueueSettings = { connection: Redis | Cluster; prefix?: string }
export type DueDelivery = { id: DeliveryId; endpointId: EndpointId; delayMs?: number }

/** The two queues. Redis is only the schedule: the sweeper recovers whatever it loses. */
export class WebhookQueues {
  readonly events: Queue<EventJob, void, typeof queueNames.events>
  readonly deliveries: Queue<DeliveryJob, void, typeof queueNames.deliveries>

  readonly #connection: Redis | Cluster
  readonly #priority = new PublishPriority()

  constructor({ connection, prefix = DEFAULT_QUEUE_PREFIX }: QueueSettings) {
    const options = { connection, prefix, defaultJobOptions: jobOptions }
    this.#connection = connection
    this.events = new Queue(queueNames.events, options)
    this.deliveries = new Queue(queueNames.deliveries, options)
    // The owner of the connection handles its errors. Without a listener BullMQ prints them.
    this.events.on('error', () => undefined)
    this.deliveries.on('error', () => undefined)
  }

  /** Publishes committed events. Rejects if Redis is unavailable; the row is enough, so callers may ignore that. */
  async addEvents(events: readonly EventToPublish[]): Promise<void> {
    if (events.length === 0) return
    this.#requireRedis()
    await this.events.addBulk(
      events.map((event) => ({
        name: queueNames.events,
        data: { eventId: event.id, accountId: event.accountId },
        opts: { jobId: eventJobId(event.id), priority: this.#priority.take(event) },
      })),
    )
  }

  /** Schedules attempts, at once or after `delayMs`. Rejects if Redis is unavailable. */
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

  /** Pauses or resumes all workers. Rejects if Redis is unavailable. */
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

  /** BullMQ would wait for the first connection without limit. */
  #requireRedis(): void {
    if (!this.isConnected) throw new Error('Redis is not connected')
  }

  /** Closes the queues, but not the connection, which belongs to the caller. */
  async close(): Promise<void> {
    await Promise.all([this.events.close(), this.deliveries.close()])
  }
}
