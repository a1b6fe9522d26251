import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type Db } from '@signet/db'
import {
  concludeFirstAttempts,
  deliveryJobId,
  eventJobId,
  findForgottenEvents,
  findOpenFirstAttempts,
  findOverdueDeliveries,
  type EventId,
  type ForgottenEvent,
  type OverdueDelivery,
  type WebhookQueues,
} from '@signet/webhook-core'
import { type Events } from '../events.js'
import { type PauseSwitch } from '../operations/pause-switch.js'
import { type JobPresence } from '../queues/job-presence.js'

export type SweeperDeps = {
  db: Db
  queues: WebhookQueues
  presence: JobPresence
  pauseSwitch: Pick<PauseSwitch, 'apply'>
  events: Events
  now: () => Date
  intervalMs?: number
}

/** What is younger is probably on its way into the queue by itself, or in the middle of its attempt. */
const GRACE_MS = 10_000
const INTERVAL_MS = 30_000
const PAGE = 1000
/** Between pages with nothing lost in them, so that a look through a long backlog stays in the background. */
const PAUSE_MS = 50
const LOCK = 'dispatcher-sweeper'

/**
 * Makes the queue a schedule that may be lost (contract F.1): puts back every event that is still to be dispatched or has
 * open first attempts, and every delivery that is overdue, when they have no job. It removes nothing, and adding a job that
 * exists changes nothing.
 */
export class Sweeper {
  private readonly stopping = new AbortController()
  private running: Promise<void> | undefined
  private again = false
  private regularly: NodeJS.Timeout | undefined
  private afterGrace: NodeJS.Timeout | undefined

  constructor(private readonly deps: SweeperDeps) {}

  /** Sweeps now, and every 30 seconds. */
  start(): void {
    this.request()
    this.regularly = setInterval(() => this.request(), this.deps.intervalMs ?? INTERVAL_MS)
  }

  /** Sweeps now, and once more when the grace period of the youngest is over: for the moment Redis is back. */
  redisIsBack(): void {
    if (this.stopping.signal.aborted) return
    this.request()
    clearTimeout(this.afterGrace)
    this.afterGrace = setTimeout(() => this.request(), GRACE_MS + 1000)
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    clearInterval(this.regularly)
    clearTimeout(this.afterGrace)
    await this.running
  }

  /** One whole sweep; undefined when another process is at it. */
  sweep(): Promise<{ events: number; deliveries: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async () => {
      const before = new Date(this.deps.now().getTime() - GRACE_MS)
      const found = {
        events: (await this.sweepEvents(before)) + (await this.sweepFirstAttempts(before)),
        deliveries: await this.sweepDeliveries(before),
      }
      this.deps.events.swept(found)
      return found
    })
  }

  private request(): void {
    this.again = true
    this.running ??= this.run().finally(() => (this.running = undefined))
  }

  private async run(): Promise<void> {
    while (this.again && !this.stopping.signal.aborted) {
      this.again = false
      try {
        // First, so that an emptied Redis is paused again before it is given any work.
        await this.deps.pauseSwitch.apply()
        await this.sweep()
      } catch (error) {
        this.deps.events.sweepFailed(error)
      }
    }
  }

  private sweepEvents(before: Date): Promise<number> {
    const { db } = this.deps
    return this.eachPage<ForgottenEvent>(
      (after) => findForgottenEvents(db, { before, after, limit: PAGE }),
      (page) => this.announceMissing(page),
    )
  }

  /** Their event's job is the lease of first attempts: without it nobody is at them any more. */
  private async sweepFirstAttempts(before: Date): Promise<number> {
    const { db } = this.deps
    const read = (after?: { id: EventId }) => findOpenFirstAttempts(db, { before, after, limit: PAGE })
    // Those that ended, and whose process was lost before it said so. Another run of their event would find nothing to do.
    await this.eachPage<{ id: EventId }>(read, async (page) => {
      const ids = page.map(({ id }) => id)
      await concludeFirstAttempts(db, ids)
      return 0
    })
    return this.eachPage<{ id: EventId }>(read, (page) => this.announceMissing(page))
  }

  private async announceMissing(page: readonly { id: EventId }[]): Promise<number> {
    const { queues, presence } = this.deps
    const lost = await presence.missing(queues.events, page, ({ id }) => eventJobId(id))
    await queues.addEvents(lost.map(({ id }) => id))
    return lost.length
  }

  private sweepDeliveries(before: Date): Promise<number> {
    const { db, queues, presence } = this.deps
    return this.eachPage<OverdueDelivery>(
      (after) => findOverdueDeliveries(db, { before, after, limit: PAGE }),
      async (page) => {
        const lost = await presence.missing(queues.deliveries, page, ({ id }) => deliveryJobId(id))
        await queues.addDeliveries(lost)
        return lost.length
      },
    )
  }

  private async eachPage<Row>(
    read: (after: Row | undefined) => Promise<Row[]>,
    mend: (page: Row[]) => Promise<number>,
  ): Promise<number> {
    let found = 0
    let after: Row | undefined
    while (!this.stopping.signal.aborted) {
      const page = await read(after)
      const lost = await mend(page)
      found += lost
      if (page.length < PAGE) break
      after = page.at(-1)
      if (lost === 0) await sleep(PAUSE_MS)
    }
    return found
  }
}
