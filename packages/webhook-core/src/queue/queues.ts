import type { DefaultJobOptions, Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import type { DeliveryId, EndpointId } from '../ids.js'
import { bullmq } from './bullmq.js'
import { DEFAULT_QUEUE_PREFIX } from './default-prefix.js'
import {
  divideIntoJobs,
  eventsJobId,
  type EventsJob,
  type EventToPublish,
  type QueuedEventRef,
} from './event-jobs.js'
import { PublishPriority } from './publish-priority.js'

/**
 * Jobs contain only ids: no body, URL, secret or token is ever stored in Redis. The endpoint and its account are included so that a
 * worker can ask for a permit without reading the database.
 */
export type DeliveryJob = { deliveryId: DeliveryId; endpointId: EndpointId; accountId: string }

/** Jobs of `events` dispatch a list of events and make the first attempts. Each job of `deliveries` makes one later attempt. */
export const queueNames = { events: 'events', deliveries: 'deliveries' } as const

/** Name of the backoff strategy that the dispatcher's workers implement. The strategy takes the delay from the attempt's error. */
export const DELIVERY_BACKOFF = 'delivery'

/** Deterministic, so that adding a job twice is harmless (see `eventJobId`). */
export const deliveryJobId = (id: DeliveryId): string => `dlv_${id}`

/** Options of every job in both queues. */
export const jobOptions: DefaultJobOptions = {
  removeOnComplete: true,
  removeOnFail: true,
  // The table counts attempts, and a job ends when its row does. Failures on our side are retried without limit.
  attempts: 2 ** 31 - 1,
  backoff: { type: DELIVERY_BACKOFF },
}

export type QueueSettings = { connection: Redis | Cluster; prefix?: string }
export type DueDelivery = { id: DeliveryId; endpointId: EndpointId; accountId: string; delayMs?: number }

/** The two queues. Redis only holds the schedule: the sweeper requeues anything it loses. */
export class WebhookQueues {
  readonly events: Queue<EventsJob, void, typeof queueNames.events>
  readonly deliveries: Queue<DeliveryJob, void, typeof queueNames.deliveries>

  readonly #connection: Redis | Cluster
  readonly #eventPriority = new PublishPriority()
  readonly #deliveryPriority = new PublishPriority()

  constructor({ connection, prefix = DEFAULT_QUEUE_PREFIX }: QueueSettings) {
    const options = { connection, prefix, defaultJobOptions: jobOptions }
    this.#connection = connection
    this.events = new bullmq.Queue(queueNames.events, options)
    this.deliveries = new bullmq.Queue(queueNames.deliveries, options)
    // The owner of the connection handles its errors. Without a listener BullMQ prints them.
    this.events.on('error', () => undefined)
    this.deliveries.on('error', () => undefined)
  }

  /** Publishes committed events, many per job. Rejects if Redis is unavailable. Callers may ignore that, because the row is enough. */
  async addEvents(events: readonly EventToPublish[]): Promise<void> {
    if (events.length === 0) return
    this.assertConnected()
    const jobs = divideIntoJobs(events, (event) => this.#eventPriority.take(event))
    const toAdd = jobs.map(({ events, priority }) => ({
      name: queueNames.events,
      data: { events },
      opts: { jobId: eventsJobId(events), priority },
    }))
    const [first, ...others] = toAdd
    // `addBulk` is a transaction, which takes several times as long as one command.
    if (first && others.length === 0) await this.events.add(first.name, first.data, first.opts)
    else await this.events.addBulk(toAdd)
  }

  /** Gives an event that cannot continue with the others of its job a separate job. Rejects if Redis is unavailable. */
  async splitOff(
    event: QueuedEventRef,
    { delayMs, priority, ...history }: { delayMs: number; priority: number } & Omit<EventsJob, 'events'>,
  ): Promise<void> {
    this.assertConnected()
    const events = [event]
    await this.events.add(
      queueNames.events,
      { events, ...history },
      { jobId: eventsJobId(events), delay: delayMs, priority },
    )
  }

  /**
   * Schedules attempts, immediately or after `delayMs`. When they are due, those of accounts beyond their allowance come last. Rejects
   * if Redis is unavailable.
   */
  async addDeliveries(due: readonly DueDelivery[]): Promise<void> {
    if (due.length === 0) return
    this.assertConnected()
    await this.deliveries.addBulk(
      due.map(({ id, endpointId, accountId, delayMs = 0 }) => ({
        name: queueNames.deliveries,
        data: { deliveryId: id, endpointId, accountId },
        opts: {
          jobId: deliveryJobId(id),
          delay: delayMs,
          priority: this.#deliveryPriority.take({ accountId }),
        },
      })),
    )
  }

  /** Makes these delayed jobs due now, and returns how many. Rejects if Redis is unavailable. */
  async startDelayed(queue: keyof typeof queueNames, jobIds: readonly string[]): Promise<number> {
    if (jobIds.length === 0) return 0
    this.assertConnected()
    const started = await Promise.all(jobIds.map((jobId) => this.#startDelayed(queue, jobId)))
    return started.filter(Boolean).length
  }

  async #startDelayed(queue: keyof typeof queueNames, jobId: string): Promise<boolean> {
    try {
      // Does not read the job, which may be unreadable: the worker finds that out.
      await this[queue].backend.promote(jobId)
      return true
    } catch (error) {
      // Workers continue in the meantime: the job may have become due by itself, or be done.
      if (isNoLongerDelayed(error)) return false
      throw error
    }
  }

  /** Pauses all workers. Rejects if Redis is unavailable. */
  async pause(): Promise<void> {
    this.assertConnected()
    for (const queue of [this.events, this.deliveries]) if (!(await queue.isPaused())) await queue.pause()
  }

  /** Lets all workers continue. Rejects if Redis is unavailable. */
  async resume(): Promise<void> {
    this.assertConnected()
    for (const queue of [this.events, this.deliveries]) if (await queue.isPaused()) await queue.resume()
  }

  get isConnected(): boolean {
    return this.#connection.status === 'ready'
  }

  /** Throws if Redis is not connected, because BullMQ would wait for the first connection without limit. */
  assertConnected(): void {
    if (!this.isConnected) throw new Error('Redis is not connected')
  }

  /** Closes the queues, but not the connection, which belongs to the caller. */
  async close(): Promise<void> {
    await Promise.all([this.events.close(), this.deliveries.close()])
  }
}

const isNoLongerDelayed = (error: unknown): boolean => {
  const { code } = error as { code?: unknown }
  return code === bullmq.ErrorCode.JobNotInState || code === bullmq.ErrorCode.JobNotExist
}
