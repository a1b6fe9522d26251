import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type Db } from '@signet/db'
import type { EndpointId, EventId } from '@signet/webhook-core'
import type { EventToPublish, WebhookQueues } from '@signet/webhook-core/queue'
import type { BacklogCanceller } from '../attempts/backlog-canceller.js'
import { findEndedWithBacklog } from '../deliveries/cancel-store.js'
import { findOverdueDeliveries, type OverdueDelivery } from '../deliveries/delivery-store.js'
import {
  concludeFirstAttempts,
  findOpenFirstAttempts,
  type OpenFirstAttempts,
} from '../dispatching/first-attempt-store.js'
import { findForgottenEvents, type ForgottenEvent } from '../events/event-store.js'
import type { Observer } from '../observers/observer.js'
import type { PauseSwitch } from '../operations/pause-switch.js'
import type { JobPresence } from '../queues/job-presence.js'

export type SweeperDeps = {
  db: Db
  queues: WebhookQueues
  presence: JobPresence
  canceller: Pick<BacklogCanceller, 'request'>
  pauseSwitch: Pick<PauseSwitch, 'apply'>
  observer: Observer
  now: () => Date
  intervalMs?: number
}

/** Anything younger is probably still on its way into the queue, or in the middle of an attempt. */
const GRACE_MS = 10_000
const INTERVAL_MS = 30_000
const PAGE = 1000
/** Between pages without lost work, so that scanning a long backlog stays in the background. */
const PAUSE_MS = 50
const LOCK = 'dispatcher-sweeper'
/** Overdue deliveries wait for their turn for minutes at most. A job that waits longer was made when its row said another time. */
const MAX_DEFERRAL_MS = 10 * 60_000

/** Returns how many of a page had no job. */
type RequeueMissing = (page: readonly EventToPublish[]) => Promise<number>

/**
 * Recovers work that Redis lost: adds a job for every undispatched event, every event with open first attempts and every
 * overdue delivery that has none, and starts a job that waits far beyond the time when its delivery is due. It removes nothing, and
 * adding a job that exists changes nothing.
 */
export class Sweeper {
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #again = false
  #regularly: NodeJS.Timeout | undefined
  #afterGrace: NodeJS.Timeout | undefined

  constructor(private readonly deps: SweeperDeps) {}

  /** Sweeps now, and every 30 seconds. */
  start(): void {
    this.#request()
    this.#regularly = setInterval(() => this.#request(), this.deps.intervalMs ?? INTERVAL_MS)
  }

  /** Sweeps now, and once more when the grace period of the most recent work is over. */
  redisReconnected(): void {
    if (this.#stopping.signal.aborted) return
    this.#request()
    clearTimeout(this.#afterGrace)
    this.#afterGrace = setTimeout(() => this.#request(), GRACE_MS + 1000)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#regularly)
    clearTimeout(this.#afterGrace)
    await this.#running
  }

  /** One complete sweep; undefined if another process is running it. */
  sweep(): Promise<{ events: number; deliveries: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async () => {
      const before = new Date(this.deps.now().getTime() - GRACE_MS)
      const missing = this.deps.presence.eventsMissing()
      const requeueMissing = async (page: readonly EventToPublish[]): Promise<number> => {
        const lost = await missing(page)
        await this.deps.queues.addEvents(lost)
        return lost.length
      }
      const found = {
        events:
          (await this.#sweepEvents(before, requeueMissing)) +
          (await this.#sweepFirstAttempts(before, requeueMissing)),
        deliveries: await this.#sweepDeliveries(before),
      }
      await this.#sweepBacklogs(before)
      this.deps.observer.swept(found)
      return found
    })
  }

  #request(): void {
    this.#again = true
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false
      try {
        // First, so that an emptied Redis is paused again before it gets any work.
        await this.deps.pauseSwitch.apply()
        await this.sweep()
      } catch (error) {
        this.deps.observer.sweepFailed(error)
      }
    }
  }

  #sweepEvents(before: Date, requeueMissing: RequeueMissing): Promise<number> {
    const { db } = this.deps
    return this.#eachPage<ForgottenEvent>(
      (after) => findForgottenEvents(db, { before, after, limit: PAGE }),
      requeueMissing,
    )
  }

  /** First attempts run under their event's job. Without that job nobody is working on them. */
  async #sweepFirstAttempts(before: Date, requeueMissing: RequeueMissing): Promise<number> {
    const { db } = this.deps
    const read = (after?: { id: EventId }) => findOpenFirstAttempts(db, { before, after, limit: PAGE })
    // Some have ended, but their process died before it recorded that. Running their event again would find nothing to do.
    await this.#eachPage<OpenFirstAttempts>(read, async (page) => {
      const ids = page.map(({ id }) => id)
      await concludeFirstAttempts(db, ids)
      return 0
    })
    return this.#eachPage<OpenFirstAttempts>(read, requeueMissing)
  }

  #sweepDeliveries(before: Date): Promise<number> {
    const { db, queues, presence, now } = this.deps
    return this.#eachPage<OverdueDelivery>(
      (after) => findOverdueDeliveries(db, { before, after, limit: PAGE }),
      async (page) => {
        const lost = await presence.missingDeliveries(page)
        await queues.addDeliveries(lost)
        const latest = new Date(now().getTime() + MAX_DEFERRAL_MS)
        const delayed = await presence.deliveriesDelayedBeyond(page, latest)
        return lost.length + (await queues.startDelayed(delayed))
      },
    )
  }

  /** Endpoints whose process died before it had cancelled all of their deliveries. */
  async #sweepBacklogs(before: Date): Promise<void> {
    const { db, canceller } = this.deps
    await this.#eachPage<{ id: EndpointId }>(
      (after) => findEndedWithBacklog(db, { before, after, limit: PAGE }),
      (page) => {
        for (const { id } of page) canceller.request(id)
        return Promise.resolve(page.length)
      },
    )
  }

  async #eachPage<Row>(
    read: (after: Row | undefined) => Promise<Row[]>,
    requeueLost: (page: Row[]) => Promise<number>,
  ): Promise<number> {
    let found = 0
    let after: Row | undefined
    while (!this.#stopping.signal.aborted) {
      const page = await read(after)
      const lost = await requeueLost(page)
      found += lost
      if (page.length < PAGE) break
      after = page.at(-1)
      if (lost === 0) await sleep(PAUSE_MS)
    }
    return found
  }
}
