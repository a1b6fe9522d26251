import { withAdvisoryLock } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { Observer } from '../observers/observer.js'
import type { PauseSwitch } from '../operations/pause-switch.js'
import type { RedisOutage } from '../queues/redis-watch.js'
import { cancelEndedBacklogs, type EndedBacklogsDeps } from './ended-backlogs.js'
import {
  requeueOverdueDeliveries,
  requeueUpcomingDeliveries,
  type LostDeliveriesDeps,
} from './lost-deliveries.js'
import {
  requeueLostEvents,
  requeueLostFirstAttempts,
  type LostEventsDeps,
  type MayBeInWork,
} from './lost-events.js'
import { startMistimedJobs, type MistimedJobsDeps } from './mistimed-jobs.js'

export type SweeperDeps = LostEventsDeps &
  LostDeliveriesDeps &
  MistimedJobsDeps &
  EndedBacklogsDeps & {
    queues: WebhookQueues
    pauseSwitch: Pick<PauseSwitch, 'apply'>
    observer: Observer
    intervalMs?: number
  }

/** Work that is younger is probably not lost, but still on its way into the queue, or in the middle of an attempt. */
const GRACE_MS = 10_000
/** Enough for an event that nobody can be working on yet: if it has no job after this time, publishing it has failed. */
const PUBLISHED_MS = 2_000
const INTERVAL_MS = 30_000
/** How often, and how many times, to sweep after Redis recovered: until everything accepted before that is older than `GRACE_MS`. */
const EARLY_INTERVAL_MS = 1_000
const EARLY_SWEEPS = 12
/** Also look for lost jobs of deliveries that become due within two intervals, so that they are replaced before they would be late. */
const AHEAD_MS = 2 * INTERVAL_MS
const LOCK = 'dispatcher-sweeper'

/**
 * Recovers work that Redis lost: adds a job for every undispatched event, every event with open first attempts and every
 * delivery that is overdue or due soon and has none, and starts jobs that wait for too long. It removes nothing, and adding a job that
 * exists changes nothing.
 */
export class Sweeper {
  readonly #sweeps: Periodic
  #earlySweeps: Periodic | undefined
  #earlySweepsLeft = 0
  /** The last outage of Redis, as long as there are early sweeps because of it. */
  #outage: RedisOutage | undefined

  constructor(private readonly deps: SweeperDeps) {
    this.#sweeps = new Periodic({
      everyMs: deps.intervalMs ?? INTERVAL_MS,
      run: async () => {
        // An emptied Redis has also lost a pause. Restore that before adding any work.
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
   * Call it when Redis works again, or was emptied. Sweeps now and then every second until everything that may have been lost is old
   * enough to be found. One sweep is not enough: other processes may lose what they add while they cannot reach Redis yet.
   */
  redisRecovered(outage: RedisOutage): void {
    this.#outage = this.#outage === undefined ? outage : bothOf(this.#outage, outage)
    this.#earlySweepsLeft = EARLY_SWEEPS
    if (this.#sweeps.stopping.aborted) return
    this.#earlySweeps ??= new Periodic({
      everyMs: EARLY_INTERVAL_MS,
      run: () => this.#sweepEarly(),
      onError: (error) => this.deps.observer.sweepFailed(error),
    })
    this.#earlySweeps.start()
  }

  async #sweepEarly(): Promise<void> {
    if (this.#earlySweepsLeft > 0) {
      this.#earlySweepsLeft -= 1
      return this.#sweeps.request()
    }
    // Not awaited: it waits for this run.
    void this.#earlySweeps?.stop()
    this.#earlySweeps = undefined
    this.#outage = undefined
  }

  /**
   * The events that someone may be working on although they have no job, by the time when they were accepted: from `from` until before
   * `to`. They have to wait until `GRACE_MS` is over.
   *
   * - Normally these are all events that young.
   * - After an outage in which Redis kept its jobs, there are none: an event in work would have its job.
   * - If Redis was emptied, an event in work has lost its job. Only those accepted during the outage cannot be in work, because they could
   *   not be published.
   */
  #mayBeInWork(): MayBeInWork {
    const now = this.deps.now()
    const from = new Date(now.getTime() - GRACE_MS)
    if (this.#outage === undefined) return { from, to: now }
    return { from, to: this.#outage.wasEmptied ? (this.#outage.since ?? now) : from }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#earlySweeps?.stop(), this.#sweeps.stop()])
  }

  /** One complete sweep; undefined if another process is running it. */
  sweep(): Promise<{ events: number; deliveries: number } | undefined> {
    const { deps } = this
    return withAdvisoryLock(deps.db, LOCK, async (lost) => {
      const stop = AbortSignal.any([lost, this.#sweeps.stopping])
      const ago = (ms: number) => new Date(deps.now().getTime() - ms)
      const before = ago(GRACE_MS)
      const unpublished = { before: ago(PUBLISHED_MS), except: this.#mayBeInWork() }
      const found = {
        events:
          (await requeueLostEvents(deps, unpublished, stop)) +
          (await requeueLostFirstAttempts(deps, before, stop)) +
          (await startMistimedJobs(deps, stop)),
        deliveries:
          (await requeueOverdueDeliveries(deps, before, stop)) +
          (await requeueUpcomingDeliveries(deps, AHEAD_MS, stop)),
      }
      await cancelEndedBacklogs(deps, before, stop)
      deps.observer.swept(found)
      return found
    })
  }
}

/** Combines two outages: whatever one of them may have lost is lost. */
const bothOf = (one: RedisOutage, other: RedisOutage): RedisOutage => ({
  since: one.since && other.since && other.since < one.since ? other.since : (one.since ?? other.since),
  wasEmptied: one.wasEmptied || other.wasEmptied,
})
