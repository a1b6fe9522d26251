import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type DatabaseClock, type Db } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { EventId } from '@signet/webhook-core'
import { whileLocked } from '@signet/webhook-core/stores'
import { deleteOldEndpoints, deleteOldEvents } from './retention-store.js'
import type { Observer } from '../observers/observer.js'

export type RetentionDeps = {
  db: Db
  observer: Pick<Observer, 'oldRowsDeleted' | 'retentionFailed'>
  /** Not the clock of this process: if that is wrong, everything it thinks is old would be gone. */
  databaseNow: DatabaseClock
  /** Pauses between batches, until the signal at most. */
  pause?: typeof rest
}

const DAY_MS = 24 * 60 * 60 * 1000
/** For events with their deliveries and attempts, and for deleted endpoints. */
export const KEEP_DAYS = 30
const INTERVAL_MS = 60 * 60 * 1000
const BATCH = 200
/** Milliseconds of pause for each millisecond of deleting: deliveries come first. */
const REST = 4
const LOCK = 'dispatcher-retention'

export const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)

/** Deletes up to `limit` rows and returns how many. */
type DeleteStep = (limit: number) => Promise<number>

/** Deletes what is older than 30 days, a little at a time, on one dispatcher at a time (decision 0057). */
export class Retention {
  readonly #runs: Periodic

  constructor(private readonly deps: RetentionDeps) {
    this.#runs = new Periodic({
      everyMs: INTERVAL_MS,
      run: () => this.run(),
      onError: (error) => deps.observer.retentionFailed(error),
    })
  }

  start(): void {
    this.#runs.start()
  }

  stop(): Promise<void> {
    return this.#runs.stop()
  }

  /** One complete run; undefined if another process is running it. */
  run(): Promise<{ events: number; endpoints: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async (lost) => {
      const stop = AbortSignal.any([lost, this.#runs.stopping])
      const { databaseNow } = this.deps
      const db = whileLocked(this.deps.db, lost)
      const before = new Date((await databaseNow(db)).getTime() - KEEP_DAYS * DAY_MS)
      let after: EventId | null = null
      const deleteEvents = async (limit: number) => {
        const { count, last } = await this.deps.db.transaction((tx) => {
          lost.throwIfAborted()
          return deleteOldEvents(tx, before, limit, after)
        })
        after = last
        return count
      }
      const deleted = {
        events: await this.#drain(deleteEvents, stop),
        // Second, because an endpoint stays as long as deliveries refer to it.
        endpoints: await this.#drain((limit) => deleteOldEndpoints(db, before, limit), stop),
      }
      this.deps.observer.oldRowsDeleted(deleted)
      return deleted
    })
  }

  async #drain(deleteSome: DeleteStep, signal: AbortSignal): Promise<number> {
    const { pause = rest } = this.deps
    let total = 0
    while (!signal.aborted) {
      const startedAt = performance.now()
      const count = await deleteSome(BATCH)
      total += count
      if (count < BATCH) break
      await pause(REST * (performance.now() - startedAt), signal)
    }
    return total
  }
}
