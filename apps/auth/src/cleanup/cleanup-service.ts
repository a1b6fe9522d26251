import { isUnavailable, withAdvisoryLock, type DatabaseClock, type Db } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { StopSignal } from '../account/account-deletion-service.js'
import type { Observer } from '../observers/observer.js'
import { cleanupRulesAt, type CleanupAges } from './cleanup-rules.js'
import type { CleanupRule, CleanupStore } from './cleanup-store.js'

const PAUSE_MS = 60_000

type Deps = {
  db: Db
  store: CleanupStore
  observer: Observer
  deletions: { finish(stop: StopSignal, failed: (error: Error) => void): Promise<number> }
  /** Tables of one namespace are cleaned by one process at a time. */
  lockName: string
  ages: CleanupAges
  databaseNow: DatabaseClock
}

/** Deletes rows that are no longer needed (docs/specification.md#ages-of-clean-up). */
export class CleanupService {
  constructor(private readonly deps: Deps) {}

  /**
   * Cleans all tables once; does nothing while another process is cleaning up. Failures to delete are reported and do not hold up the rest.
   */
  async run(stop: StopSignal = { aborted: false }): Promise<void> {
    const { db, lockName, ages, deletions, observer, databaseNow } = this.deps
    await withAdvisoryLock(db, lockName, async () => {
      observer.cleanedUp('users', await deletions.finish(stop, (error) => observer.cleanUpFailed(error)))
      for (const rule of cleanupRulesAt(await databaseNow(db), ages))
        await this.#runRule(rule, stop).catch((error: unknown) => {
          if (isUnavailable(error)) throw error
          observer.cleanUpFailed(new Error(`rows of ${rule.table} could not be deleted`, { cause: error }))
        })
    })
  }

  async #runRule(rule: CleanupRule, stop: StopSignal): Promise<void> {
    const { db, store, observer } = this.deps
    let total = 0
    while (!stop.aborted) {
      const rows = await store.deleteBatch(db, rule)
      total += rows
      if (rows === 0) break
    }
    observer.cleanedUp(rule.table, total)
  }

  /** Runs periodically until the returned function is called. That function waits for the batch in progress. */
  start(): () => Promise<void> {
    const runs = new Periodic({
      everyMs: PAUSE_MS,
      firstMs: PAUSE_MS,
      run: (stopping) => this.run(stopping),
      onError: (error) => this.deps.observer.cleanUpFailed(error),
    })
    runs.start()
    return () => runs.stop()
  }
}
