import { type Queryable } from '@signet/db'
import {
  concludeFirstAttempts,
  scheduleDeliveries,
  type AttemptPlan,
  type DeliveryId,
  type EndpointId,
  type EventId,
  type WebhookQueues,
} from '@signet/webhook-core'
import { Batcher } from '../batching/batcher.js'
import { type MadeDeliveries } from '../dispatching/dispatch-service.js'
import { type AttemptService } from './attempt-service.js'

export type FirstAttemptsDeps = {
  db: Queryable
  attempts: Pick<AttemptService, 'runFirst'>
  queues: Pick<WebhookQueues, 'addDeliveries'>
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  now: () => Date
}

/** A delivery that goes on under a job of its own. `isScheduled`: its row says already when. */
type HandOver = { id: DeliveryId; endpointId: EndpointId; delayMs: number; isScheduled: boolean }

const MAX_BATCH = 200
const HAND_OVER_LINGER_MS = 2
/** No job waits for it, and a sweep that finds one of these not yet said says it. */
const CONCLUDE_LINGER_MS = 50

/**
 * The first attempts of an event, made under the event's own job: its lock is their lease, and no job per delivery is needed
 * for what succeeds at once. What finds no place at its endpoint, or fails, goes on in the queue `deliveries`.
 */
export class FirstAttempts {
  private readonly handOvers: Batcher<HandOver, undefined>
  private readonly conclusions: Batcher<EventId, undefined>
  private lastConclusion: Promise<unknown> = Promise.resolve()

  constructor(private readonly deps: FirstAttemptsDeps) {
    const { db, patiently } = deps
    this.handOvers = new Batcher({
      run: async (batch) => {
        await this.handOver(batch)
        return batch.map(() => undefined)
      },
      maxItems: () => MAX_BATCH,
      lingerMs: HAND_OVER_LINGER_MS,
      parallel: 1,
    })
    this.conclusions = new Batcher({
      run: async (ids) => {
        await patiently(() => concludeFirstAttempts(db, ids))
        return ids.map(() => undefined)
      },
      maxItems: () => MAX_BATCH,
      lingerMs: CONCLUDE_LINGER_MS,
      parallel: 1,
    })
  }

  /**
   * Resolves when each delivery of the event has ended or has a job of its own. `onSent` is called for each one that was
   * made just now, when its connection is free again or it found no place.
   */
  async run(eventId: EventId, { created, left, readAt }: MadeDeliveries, onSent?: () => void): Promise<void> {
    if (created.length + left.length === 0) return
    const settled = await Promise.allSettled([
      ...created.map((plan) => this.attempt(plan, readAt, onSent)),
      ...left.map(({ id, endpointId, dueAt }) =>
        this.handOvers.submit({ id, endpointId, delayMs: this.until(dueAt), isScheduled: dueAt !== null }),
      ),
    ])
    const failed = settled.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    // Not awaited: the job has done all that is its to do, and whoever waits for its place in hand should not wait for this.
    this.lastConclusion = this.conclusions.submit(eventId).catch(() => undefined)
  }

  /** Resolves when all that has ended until now is also said to have ended. */
  async concluded(): Promise<void> {
    await this.lastConclusion
  }

  private async attempt(plan: AttemptPlan, readAt: number, onSent?: () => void): Promise<void> {
    const fate = await this.deps.attempts.runFirst(plan, readAt, onSent)
    if (fate.kind === 'finished') return
    const { id, endpoint } = plan
    const isScheduled = fate.kind === 'retry'
    await this.handOvers.submit({ id, endpointId: endpoint.id, delayMs: fate.delayMs, isScheduled })
  }

  /** The rows first: whatever is lost between the two is then overdue, and the sweeper finds it. */
  private async handOver(batch: readonly HandOver[]): Promise<void> {
    const { db, queues, patiently, now } = this.deps
    const unscheduled = batch.filter(({ isScheduled }) => !isScheduled)
    if (unscheduled.length > 0) await patiently(() => scheduleDeliveries(db, unscheduled, now()))
    await queues.addDeliveries(batch)
  }

  private until(dueAt: Date | null): number {
    return dueAt ? Math.max(0, dueAt.getTime() - this.deps.now().getTime()) : 0
  }
}
