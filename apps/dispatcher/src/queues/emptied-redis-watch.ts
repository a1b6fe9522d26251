import { randomUUID } from 'node:crypto'
import { Periodic } from '@signet/periodic'
import type { Cluster, Redis } from 'ioredis'

export type EmptiedRedisWatchDeps = {
  connection: Redis | Cluster
  /** Of the key that is there as long as Redis has not been emptied. */
  key: string
  onEmptied: () => void
}

const INTERVAL_MS = 1000

/**
 * Notices that Redis was emptied while its connections stayed open (`FLUSHALL`, or a failover to an empty server behind the same
 * address). All processes share one key with a random value; where it is gone or another one, so may be every job.
 */
export class EmptiedRedisWatch {
  readonly #checks: Periodic
  #value: string | null | undefined

  constructor(private readonly deps: EmptiedRedisWatchDeps) {
    // A Redis that does not respond is known from its connections.
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
    let value = await connection.get(key)
    if (value === null) {
      await connection.set(key, randomUUID(), 'NX')
      value = await connection.get(key)
    }
    const isKnown = this.#value === undefined || value === this.#value
    this.#value = value
    if (!isKnown) onEmptied()
  }
}
