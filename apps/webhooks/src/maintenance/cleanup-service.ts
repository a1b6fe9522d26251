import { withAdvisoryLock, type Db, type Queryable } from '@signet/db'
import { whileLocked } from '@signet/webhook-core/stores'
import type { Observer } from '../observers/observer.js'
import { dailySteps, hourlySteps, type CleanupStep } from './cleanup-store.js'

type Deps = { db: Db; observer: Observer }

const BATCH = 1000

/** Deletes expired rows (docs/specification.md#retention). Runs on one instance at a time; a second one does nothing. */
export class CleanupService {
  constructor(private readonly deps: Deps) {}

  runHourly(stop?: AbortSignal): Promise<void> {
    return this.#run('clean-up-hourly', hourlySteps, stop)
  }

  runDaily(stop?: AbortSignal): Promise<void> {
    return this.#run('clean-up-daily', dailySteps, stop)
  }

  async #run(lock: string, steps: Readonly<Record<string, CleanupStep>>, stop?: AbortSignal): Promise<void> {
    const { db, observer } = this.deps
    const counts = await withAdvisoryLock(db, lock, async (lost) => {
      const locked = whileLocked(db, lost)
      const removed: Record<string, number> = {}
      for (const [name, step] of Object.entries(steps)) removed[name] = await this.#drain(locked, step, stop)
      return removed
    })
    if (counts) observer.cleaned(counts)
  }

  /** After a stop, leaves the rest for the next run, so that old rows do not delay the end of the process. */
  async #drain(db: Queryable, step: CleanupStep, stop?: AbortSignal): Promise<number> {
    let total = 0
    while (!stop?.aborted) {
      const count = await step(db, BATCH)
      total += count
      if (count < BATCH) break
    }
    return total
  }
}
