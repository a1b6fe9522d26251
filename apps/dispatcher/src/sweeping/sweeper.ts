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
import type { RedisOutage } from '../queues/redis-watch.js'

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
/** The same for an event on which nobody can be working yet: one that has no job by then is not being published any more. */
const PUBLISHED_MS = 2_000
const INTERVAL_MS = 30_000
/** After Redis recovered, until the grace of all that was accepted before is over. */
const EARLY_INTERVAL_MS = 1_000
const EARLY_SWEEPS = 12
/** Deliveries that become due before the next sweep but one, so that a job which Redis lost is there in time. */
const AHEAD_MS = 2 * INTERVAL_MS
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
 * delivery that is overdue or due soon and has none, and starts a job that waits far beyond the time when its delivery is due. It removes nothing, and
 * adding a job that exists changes nothing.
 */
export class Sweeper {
  readonly #sweeps: Periodic
  #earlySweeps: NodeJS.Timeout | undefined
  #earlySweepsLeft = 0
  /** While there are early sweeps. */
  #outage: RedisOutage | undefined

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

  /**
   * Redis works again, or was emptied. Sweeps now and every second, because not every process reaches Redis at the same moment, until the
   * grace of everything that may have been lost is over.
   */
  redisRecovered(outage: RedisOutage): void {
    this.#outage = this.#outage === undefined ? outage : bothOf(this.#outage, outage)
    this.#earlySweepsLeft = EARLY_SWEEPS
    void this.#sweeps.request()
    if (this.#sweeps.stopping.aborted) return
    this.#earlySweeps ??= setInterval(() => this.#sweepEarly(), EARLY_INTERVAL_MS).unref()
  }

  #sweepEarly(): void {
    if (this.#earlySweepsLeft === 0) {
      clearInterval(this.#earlySweeps)
      this.#earlySweeps = undefined
      this.#outage = undefined
      return
    }
    this.#earlySweepsLeft -= 1
    void this.#sweeps.request()
  }

  /**
   * The young events on which somebody may be working: those accepted from `from` until before `to`. If Redis kept its jobs, nobody works
   * on an event that has none. If it was emptied, that is known only of events that could not be published.
   */
  #mayBeInWork(): { from: Date; to: Date } {
    const now = this.deps.now()
    const from = new Date(now.getTime() - GRACE_MS)
    if (this.#outage === undefined) return { from, to: now }
    return { from, to: this.#outage.wasEmptied ? (this.#outage.since ?? now) : from }
  }

  async stop(): Promise<void> {
    clearInterval(this.#earlySweeps)
    await this.#sweeps.stop()
  }

  /** One complete sweep; undefined if another process is running it. */
  sweep(): Promise<{ events: number; deliveries: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async (lost) => {
      const stop = AbortSignal.any([lost, this.#sweeps.stopping])
      const ago = (ms: number) => new Date(this.deps.now().getTime() - ms)
      const before = ago(GRACE_MS)
      const events = await this.#sweepEvents(ago(PUBLISHED_MS), stop)
      const found = {
        events: events + (await this.#sweepFirstAttempts(before, stop)),
        deliveries: (await this.#sweepDeliveries(before, stop)) + (await this.#sweepUpcoming(stop)),
      }
      await this.#sweepBacklogs(before, stop)
      this.deps.observer.swept(found)
      return found
    })
  }

  #sweepEvents(before: Date, stop: AbortSignal): Promise<number> {
    const { db } = this.deps
    const except = this.#mayBeInWork()
    return this.#requeueMissing<ForgottenEvent>(
      (after) => findForgottenEvents(db, { before, except, after, limit: PAGE }),
      (ids) => findQueued(db, ids),
      stop,
    )
  }

  /** First attempts run under their event's job. Without that job no process is working on them. */
  async #sweepFirstAttempts(before: Date, stop: AbortSignal): Promise<number> {
    const { db } = this.deps
    const read = (after?: { id: EventId }) => findOpenFirstAttempts(db, { before, after, limit: PAGE })
    // Some have ended, but their process died before it recorded that. Running their event again would find nothing to do.
    await this.#eachPage<OpenFirstAttempts>(
      read,
      async (page) => {
        const ids = page.map(({ id }) => id)
        await concludeFirstAttempts(db, ids)
        return 0
      },
      stop,
    )
    return this.#requeueMissing<OpenFirstAttempts>(read, (ids) => findOpenAmong(db, ids), stop)
  }

  /**
   * Adds a job for each event that has none. Jobs of several events are read as a whole, so the events that may be in one are collected
   * first. `findOpen` says which of these have not ended meanwhile.
   */
  async #requeueMissing<Row extends EventToPublish>(
    read: (after: Row | undefined) => Promise<Row[]>,
    findOpen: (ids: readonly EventId[]) => Promise<ReadonlySet<EventId>>,
    stop: AbortSignal,
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
    const found = await this.#eachPage<Row>(
      read,
      async (page) => {
        lookedFor.push(...(await presence.eventsWithoutOwnJob(page)))
        return lookedFor.length < lookedForAtOnce ? 0 : requeue()
      },
      stop,
    )
    return found + (await requeue())
  }

  #sweepDeliveries(before: Date, stop: AbortSignal): Promise<number> {
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
      stop,
    )
  }

  /**
   * Deliveries that are due soon need no grace period, because no process is attempting them. If the sweep found them only when
   * overdue, they would start late by up to a sweep and the grace period.
   */
  #sweepUpcoming(stop: AbortSignal): Promise<number> {
    const { db, queues, presence, now } = this.deps
    const from = now().getTime()
    const first = { dueAt: new Date(from).toISOString() }
    const before = new Date(from + AHEAD_MS)
    return this.#eachPage<OverdueDelivery>(
      (after) => findOverdueDeliveries(db, { before, after: after ?? first, limit: PAGE }),
      async (page) => {
        const lost = await presence.missingDeliveries(page)
        const delayMs = (due: Date) => Math.max(0, due.getTime() - now().getTime())
        await queues.addDeliveries(lost.map((row) => ({ ...row, delayMs: delayMs(row.due) })))
        return lost.length
      },
      stop,
    )
  }

  /** Endpoints whose process died before it had cancelled all of their deliveries. */
  async #sweepBacklogs(before: Date, stop: AbortSignal): Promise<void> {
    const { db, canceller } = this.deps
    await this.#eachPage<{ id: EndpointId }>(
      (after) => findEndedWithBacklog(db, { before, after, limit: PAGE }),
      (page) => {
        for (const { id } of page) canceller.request(id)
        return Promise.resolve(page.length)
      },
      stop,
    )
  }

  async #eachPage<Row>(
    read: (after: Row | undefined) => Promise<Row[]>,
    requeueLost: (page: Row[]) => Promise<number>,
    stop: AbortSignal,
  ): Promise<number> {
    let found = 0
    let after: Row | undefined
    while (!stop.aborted) {
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

/** What two outages in a row may have lost. */
const bothOf = (one: RedisOutage, other: RedisOutage): RedisOutage => ({
  since: one.since && other.since && other.since < one.since ? other.since : (one.since ?? other.since),
  wasEmptied: one.wasEmptied || other.wasEmptied,
})
