import {
  deliveryJobId,
  eventJobId,
  isListJobId,
  listJobId,
  type EventsJob,
  type WebhookQueues,
} from '@signet/webhook-core/queue'
import type { DeliveryId, EventId } from '@signet/webhook-core'
import type { Cluster, Redis } from 'ioredis'
import { parseEventsJob, parseJson } from './job-data.js'
import { HAS_STRAY } from './repair-scripts.js'

/** How many job ids, or contents of jobs, to read in one round trip. */
const PAGE = 1000
/** BullMQ's score of a delayed job is its time in milliseconds, multiplied by this. */
const SCORE_PER_MS = 4096

/** Finds out which deliveries and events have a job. Finished jobs are removed immediately, so a job that exists has work left. */
export class JobPresence {
  constructor(
    private readonly connection: Redis | Cluster,
    private readonly queues: Pick<WebhookQueues, 'events' | 'deliveries'>,
  ) {}

  /** Returns the deliveries that have no job. */
  async missingDeliveries<Row extends { id: DeliveryId }>(rows: readonly Row[]): Promise<Row[]> {
    const exists = await this.#exist(rows.map(({ id }) => this.queues.deliveries.toKey(deliveryJobId(id))))
    return rows.filter((_, index) => !exists[index])
  }

  /** Returns the ids of jobs that are delayed until a time between `from` and `to` (milliseconds), one page at most. */
  delayedBetween(
    queue: 'events' | 'deliveries',
    { from = 0, to = Infinity }: { from?: number; to?: number },
  ): Promise<string[]> {
    const scoreOf = (ms: number) => (ms === Infinity ? '+inf' : ms * SCORE_PER_MS)
    const key = this.queues[queue].toKey('delayed')
    return this.connection.zrangebyscore(key, scoreOf(from), scoreOf(to), 'LIMIT', 0, PAGE)
  }

  /** Of the jobs of these deliveries, returns the ids of those that are delayed beyond `at`. */
  async deliveriesDelayedBeyond(rows: readonly { id: DeliveryId }[], at: Date): Promise<string[]> {
    const key = this.queues.deliveries.toKey('delayed')
    const jobIds = rows.map(({ id }) => deliveryJobId(id))
    const scores = await this.#pipelined<string | null>(jobIds, (pipeline, jobId) =>
      pipeline.zscore(key, jobId),
    )
    return jobIds.filter((_, index) => Number(scores[index] ?? 0) / SCORE_PER_MS > at.getTime())
  }

  /**
   * Whether one of these deliveries has a stray: a job that exists but is in none of the queue's lists, so no worker will take it. May
   * miss one behind older jobs that wait, and finds it once these are done.
   */
  hasStrayDelivery(rows: readonly { id: DeliveryId }[]): Promise<boolean> {
    return this.#hasStray(
      'deliveries',
      rows.map(({ id }) => deliveryJobId(id)),
    )
  }

  /** The same for the jobs of events. A job with several events is found by the first of them. */
  hasStrayEvent(rows: readonly { id: EventId }[]): Promise<boolean> {
    return this.#hasStray(
      'events',
      rows.flatMap(({ id }) => [eventJobId(id), listJobId(id)]),
    )
  }

  /** Returns the events that have no job of their own. They may be in one together with others. */
  async eventsWithoutOwnJob<Row extends { id: EventId }>(rows: readonly Row[]): Promise<Row[]> {
    const exists = await this.#exist(rows.map(({ id }) => this.queues.events.toKey(eventJobId(id))))
    return rows.filter((_, index) => !exists[index])
  }

  /** Of events without a job of their own, returns those that share no job with other events either. Reads all shared jobs. */
  async eventsInNoList<Row extends { id: EventId }>(rows: readonly Row[]): Promise<Row[]> {
    if (rows.length === 0) return []
    const missing = new Map(rows.map((row) => [row.id, row]))
    for await (const { events } of this.#lists()) for (const { eventId } of events) missing.delete(eventId)
    // An event that left a shared job while this read them has a job of its own by now, or has ended.
    return this.eventsWithoutOwnJob([...missing.values()])
  }

  /** The id of the job that holds an event. */
  async jobOf(eventId: EventId): Promise<string | null> {
    const own = eventJobId(eventId)
    const [exists] = await this.#exist([this.queues.events.toKey(own)])
    if (exists) return own
    for await (const { jobId, events } of this.#lists())
      if (events.some((event) => event.eventId === eventId)) return jobId
    return null
  }

  /**
   * All jobs with more than one event. Jobs move while this reads, but always forward: from waiting or delayed to active. So
   * active ones are read last, and those that were active before are also read first, because a failed job becomes delayed.
   */
  async *#lists(): AsyncGenerator<{ jobId: string; events: EventsJob['events'] }> {
    for (const state of ['active', 'wait', 'paused', 'prioritized', 'delayed', 'active']) {
      for (let from = 0; ; from += PAGE) {
        const jobIds = await this.#page(state, from)
        const lists = jobIds.filter(isListJobId)
        const contents = await this.#contents(lists)
        for (const [index, data] of contents.entries()) {
          const jobId = lists[index]
          const job = data ? parseEventsJob(parseJson(data)) : null
          if (job && jobId) yield { jobId, events: job.events }
        }
        if (jobIds.length < PAGE) break
      }
    }
  }

  /** Begins at the end where jobs are added. What workers take from the other end meanwhile cannot make a page skip a job. */
  #page(state: string, from: number): Promise<string[]> {
    const key = this.queues.events.toKey(state)
    const until = from + PAGE - 1
    return state === 'prioritized' || state === 'delayed'
      ? this.connection.zrevrange(key, from, until)
      : this.connection.lrange(key, from, until)
  }

  async #hasStray(queue: 'events' | 'deliveries', jobIds: readonly string[]): Promise<boolean> {
    if (jobIds.length === 0) return false
    const keyOf = (name: string) => this.queues[queue].toKey(name)
    return (await this.connection.eval(HAS_STRAY, 1, keyOf('active'), keyOf(''), ...jobIds)) === 1
  }

  #contents(jobIds: readonly string[]): Promise<(string | null)[]> {
    return this.#pipelined(jobIds, (pipeline, jobId) =>
      pipeline.hget(this.queues.events.toKey(jobId), 'data'),
    )
  }

  async #exist(keys: readonly string[]): Promise<boolean[]> {
    const found = await this.#pipelined<number>(keys, (pipeline, key) => pipeline.exists(key))
    return found.map((count) => count === 1)
  }

  async #pipelined<Answer>(
    items: readonly string[],
    add: (pipeline: ReturnType<Redis['pipeline']>, item: string) => unknown,
  ): Promise<Answer[]> {
    if (items.length === 0) return []
    const pipeline = this.connection.pipeline()
    for (const item of items) add(pipeline, item)
    const answers = (await pipeline.exec()) ?? []
    const failed = answers.find(([error]) => error)?.[0]
    if (failed) throw failed
    return answers.map(([, answer]) => answer as Answer)
  }
}
