import { randomUUID } from 'node:crypto'
import { Periodic } from '@signet/periodic'
import type { Cluster, Redis } from 'ioredis'

export type EmptiedRedisWatchDeps = {
  connection: Redis | Cluster
  /** Of the key that is there as long as Redis has not been emptied. */
  key: string
  onEmptied: () => void
  /** Redis responds again after more than a second. Events that others tried to publish meanwhile may be missing. */
  onReturned: () => void
}

const INTERVAL_MS = 1000
const AWAY_MS = 1000

/**
 * Notices that Redis was emptied while its connections stayed open (`FLUSHALL`, or a failover to an empty server behind the same
 * address). All processes share one key with a random value. If it is gone or has changed, all jobs may be gone. The same check shows
 * when Redis did not respond.
 */
export class EmptiedRedisWatch {
  readonly #checks: Periodic
  #value: string | null | undefined
  #wasAway = false

  constructor(private readonly deps: EmptiedRedisWatchDeps) {
    // A Redis that does not respond shows in the next answer.
    this.#checks = new Periodic({ everyMs: INTERVAL_MS, run: () => this.check(), onError: () => undefined })
  }

  start(): void {
    this.#checks.start()
  }

  stop(): Promise<void> {
    return this.#checks.stop()
  }

  async check(): Promise<void> {
    const { connection, key, onEmptied } = this.deps
    let value = await this.#ask()
    if (value === null) {
      await connection.set(key, randomUUID(), 'NX')
      value = await connection.get(key)
    }
    const isKnown = this.#value === undefined || value === this.#value
    this.#value = value
    if (!isKnown) onEmptied()
  }

  async #ask(): Promise<string | null> {
    const { connection, key, onReturned } = this.deps
    const askedAt = performance.now()
    const value = await connection.get(key).catch((error: unknown) => {
      this.#wasAway = true
      throw error
    })
    if (this.#wasAway || performance.now() - askedAt > AWAY_MS) onReturned()
    this.#wasAway = false
    return value
  }
}
