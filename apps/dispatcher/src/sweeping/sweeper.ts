import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type Db } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { EndpointId, EventId } from '@signet/webhook-core'
import type { EventToPublish, WebhookQueues } from '@signet/webhook-core/queue'
import type { BacklogCanceller } from '../attempts/backlog-canceller.js'
import { findEndedWithBacklog } from '../deliveries/cancel-store.js'
import { findOverdueDeliveries, type OverdueDelivery } from '../deliveries/delivery-store.js'
import {
  concludeFirstAttempts,
  findOpenAmong,
  findOpenFirstAttempts,
  type OpenFirstAttempts,
} from '../dispatching/first-attempt-store.js'
import { findForgottenEvents, findQueued, type ForgottenEvent } from '../events/event-store.js'
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
  /** Events that may be in jobs with others, and are looked for in all of these at once. */
  lookedForAtOnce?: number
}

/** Anything younger is probably still on its way into the queue, or in the middle of an attempt. */
const GRACE_MS = 10_000
const INTERVAL_MS = 30_000
const PAGE = 1000
/** Between pages without lost work, so that scanning a long backlog stays in the background. */
const PAUSE_MS = 50
/** About 40 MB. */
const LOOKED_FOR_AT_ONCE = 100_000
const LOCK = 'dispatcher-sweeper'
/** Overdue deliveries wait for their turn for minutes at most. A job that waits longer was made when its row said another time. */
const MAX_DEFERRAL_MS = 10 * 60_000

/**
 * Recovers work that Redis lost: adds a job for every undispatched event, every event with open first attempts and every
 * overdue delivery that has none, and starts a job that waits far beyond the time when its delivery is due. It removes nothing, and
 * adding a job that exists changes nothing.
 */
export class Sweeper {
  readonly #sweeps: Periodic
  #afterGrace: NodeJS.Timeout | undefined

  constructor(private readonly deps: SweeperDeps) {
    this.#sweeps = new Periodic({
      everyMs: deps.intervalMs ?? INTERVAL_MS,
      run: async () => {
        // First, so that an emptied Redis is paused again before it gets any work.
        await deps.pauseSwitch.apply()
        await this.sweep()
      },
      onError: (error) => deps.observer.sweepFailed(error),
    })
  }

  /** Sweeps now, and every 30 seconds. */
  start(): void {
    this.#sweeps.start()
  }

  /** Redis may have lost jobs. Sweeps now, and once more when the grace period of the most recent work is over. */
  redisLostJobs(): void {
    if (this.#sweeps.stopping.aborted) return
    void this.#sweeps.request()
    clearTimeout(this.#afterGrace)
    this.#afterGrace = setTimeout(() => void this.#sweeps.request(), GRACE_MS + 1000)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#afterGrace)
    await this.#sweeps.stop()
  }

  /** One complete sweep; undefined if another process is running it. */
  sweep(): Promise<{ events: number; deliveries: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async () => {
      const before = new Date(this.deps.now().getTime() - GRACE_MS)
      const found = {
        events: (await this.#sweepEvents(before)) + (await this.#sweepFirstAttempts(before)),
        deliveries: await this.#sweepDeliveries(before),
      }
      await this.#sweepBacklogs(before)
      this.deps.observer.swept(found)
      return found
    })
  }

  #sweepEvents(before: Date): Promise<number> {
    const { db } = this.deps
    return this.#requeueMissing<ForgottenEvent>(
      (after) => findForgottenEvents(db, { before, after, limit: PAGE }),
      (ids) => findQueued(db, ids),
    )
  }

  /** First attempts run under their event's job. Without that job nobody is working on them. */
  async #sweepFirstAttempts(before: Date): Promise<number> {
    const { db } = this.deps
    const read = (after?: { id: EventId }) => findOpenFirstAttempts(db, { before, after, limit: PAGE })
    // Some have ended, but their process died before it recorded that. Running their event again would find nothing to do.
    await this.#eachPage<OpenFirstAttempts>(read, async (page) => {
      const ids = page.map(({ id }) => id)
      await concludeFirstAttempts(db, ids)
      return 0
    })
    return this.#requeueMissing<OpenFirstAttempts>(read, (ids) => findOpenAmong(db, ids))
  }

  /**
   * Adds a job for each event that has none. Jobs of several events are read as a whole, so the events that may be in one are collected
   * first. `findOpen` says which of these have not ended meanwhile.
   */
  async #requeueMissing<Row extends EventToPublish>(
    read: (after: Row | undefined) => Promise<Row[]>,
    findOpen: (ids: readonly EventId[]) => Promise<ReadonlySet<EventId>>,
  ): Promise<number> {
    const { presence, queues, lookedForAtOnce = LOOKED_FOR_AT_ONCE } = this.deps
    let lookedFor: Row[] = []
    const requeue = async (): Promise<number> => {
      const missing = await presence.eventsInNoList(lookedFor)
      lookedFor = []
      const open = missing.length === 0 ? null : await findOpen(missing.map(({ id }) => id))
      const lost = missing.filter(({ id }) => open?.has(id))
      for (let from = 0; from < lost.length; from += PAGE)
        await queues.addEvents(lost.slice(from, from + PAGE))
      return lost.length
    }
    const found = await this.#eachPage<Row>(read, async (page) => {
      lookedFor.push(...(await presence.eventsWithoutOwnJob(page)))
      return lookedFor.length < lookedForAtOnce ? 0 : requeue()
    })
    return found + (await requeue())
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
    while (!this.#sweeps.stopping.aborted) {
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
