import { setTimeout as sleep } from 'node:timers/promises'
import { withAdvisoryLock, type Db, type Queryable } from '@signet/db'
import { deleteOldEndpoints, deleteOldEvents } from '@signet/webhook-core'
import { type Events } from '../events.js'

export type RetentionDeps = {
  db: Db
  events: Events
  now: () => Date
  /** Waits between batches. */
  pause?: (ms: number) => Promise<void>
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Events with their deliveries and attempts, and endpoints that were deleted (contract E.7, G.2). */
const KEEP_DAYS = 30
const INTERVAL_MS = 60 * 60 * 1000
const BATCH = 200
/** For each millisecond of deleting, so many of rest: the database is there for deliveries. */
const REST = 4
const LOCK = 'dispatcher-retention'

type DeleteStep = (db: Queryable, before: Date, limit: number) => Promise<number>

/** Deletes what is older than 30 days, a little at a time, on one dispatcher at a time. */
export class Retention {
  private readonly stopping = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined

  constructor(private readonly deps: RetentionDeps) {}

  start(): void {
    this.timer = setInterval(() => this.request(), INTERVAL_MS)
    this.request()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    clearInterval(this.timer)
    await this.running
  }

  /** One whole run; undefined when another process is at it. */
  run(): Promise<{ events: number; endpoints: number } | undefined> {
    return withAdvisoryLock(this.deps.db, LOCK, async () => {
      const before = new Date(this.deps.now().getTime() - KEEP_DAYS * DAY_MS)
      const deleted = {
        events: await this.drain(deleteOldEvents, before),
        // Afterwards, because an endpoint stays as long as deliveries name it.
        endpoints: await this.drain(deleteOldEndpoints, before),
      }
      this.deps.events.oldRowsDeleted(deleted)
      return deleted
    })
  }

  private request(): void {
    this.running ??= this.run()
      .then(() => undefined)
      .catch((error: unknown) => this.deps.events.retentionFailed(error))
      .finally(() => (this.running = undefined))
  }

  private async drain(deleteSome: DeleteStep, before: Date): Promise<number> {
    const { signal } = this.stopping
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
