import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type Db, type Queryable } from '@signet/db'
import { deleteOldEndpoints, deleteOldEvents } from './retention-store.js'
import type { Observer } from '../observers/observer.js'

export type RetentionDeps = {
  db: Db
  observer: Observer
  now: () => Date
  /** Pauses between batches. */
  pause?: (ms: number) => Promise<void>
}

const DAY_MS = 24 * 60 * 60 * 1000
/** For events with their deliveries and attempts, and for deleted endpoints. */
const KEEP_DAYS = 30
const INTERVAL_MS = 60 * 60 * 1000
const BATCH = 200
/** Milliseconds of pause for each millisecond of deleting: deliveries come first. */
const REST = 4
const LOCK = 'dispatcher-retention'

type DeleteStep = (db: Queryable, before: Date, limit: number) => Promise<number>

/** Deletes what is older than 30 days, a little at a time, on one dispatcher at a time. */
export class Retention {
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor(private readonly deps: RetentionDeps) {}

  start(): void {
    this.#timer = setInterval(() => this.#request(), INTERVAL_MS)
    this.#request()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  /** One complete run; undefined if another process is running it. */
  run(): Promise<{ events: number; endpoints: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async () => {
      const before = new Date(this.deps.now().getTime() - KEEP_DAYS * DAY_MS)
      const deleted = {
        events: await this.#drain(deleteOldEvents, before),
        // Second, because an endpoint stays as long as deliveries refer to it.
        endpoints: await this.#drain(deleteOldEndpoints, before),
      }
      this.deps.observer.oldRowsDeleted(deleted)
      return deleted
    })
  }

  #request(): void {
    this.#running ??= this.run()
      .then(() => undefined)
      .catch((error: unknown) => this.deps.observer.retentionFailed(error))
      .finally(() => (this.#running = undefined))
  }

  async #drain(deleteSome: DeleteStep, before: Date): Promise<number> {
    const { signal } = this.#stopping
    const { db, pause = (ms) => sleep(ms, undefined, { signal }).catch(() => undefined) } = this.deps
    let total = 0
    while (!signal.aborted) {
      const startedAt = performance.now()
      const count = await deleteSome(db, before, BATCH)
      total += count
      if (count < BATCH) break
      await pause(REST * (performance.now() - startedAt))
    }
    return total
  }
}
