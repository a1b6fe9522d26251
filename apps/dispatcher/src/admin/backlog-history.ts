import type { Queryable } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { Registry } from 'prom-client'
import { readBacklog, readUndispatched } from '../backlog/backlog-store.js'

/** The backlog at a time, and the attempts of this process since the sample before. */
export type Sample = {
  at: Date
  waiting: number
  oldestSeconds: number
  delivered: number
  failed: number
}

const EVERY_MS = 60_000
const MAX_SAMPLES = (24 * 60 * 60 * 1000) / EVERY_MS

export type BacklogHistoryDeps = { db: Queryable; registry: Registry; now: () => Date }

/** One sample a minute, for a day, in memory: enough for a plot where there is no Prometheus. */
export class BacklogHistory {
  readonly #samples: Sample[] = []
  readonly #readings = new Periodic({
    everyMs: EVERY_MS,
    run: () => this.sample(),
    // An outage of PostgreSQL only leaves a gap in the plot; the gauges and the log report it.
    onError: () => undefined,
  })
  #attempts = { delivered: 0, failed: 0 }

  constructor(private readonly deps: BacklogHistoryDeps) {}

  /** Oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples
  }

  start(): void {
    this.#readings.start()
  }

  stop(): Promise<void> {
    return this.#readings.stop()
  }

  async sample(): Promise<void> {
    const { db, registry, now } = this.deps
    const at = now()
    const [{ pending, oldestDueAt }, undispatched, attempts] = await Promise.all([
      readBacklog(db, at),
      readUndispatched(db),
      countAttempts(registry),
    ])
    const oldest = Math.min(
      ...[oldestDueAt, undispatched.oldestAt].map((since) => since?.getTime() ?? at.getTime()),
    )
    this.#samples.push({
      at,
      waiting: pending + undispatched.events,
      oldestSeconds: Math.max(0, (at.getTime() - oldest) / 1000),
      delivered: attempts.delivered - this.#attempts.delivered,
      failed: attempts.failed - this.#attempts.failed,
    })
    this.#attempts = attempts
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift()
  }
}

/** Reads the counter that Prometheus scrapes too. */
async function countAttempts(registry: Registry): Promise<{ delivered: number; failed: number }> {
  const counted = await registry.getSingleMetric('signet_delivery_attempts_total')?.get()
  const total = { delivered: 0, failed: 0 }
  for (const { labels, value } of counted?.values ?? [])
    total[labels['result'] === 'delivered' ? 'delivered' : 'failed'] += value
  return total
}
