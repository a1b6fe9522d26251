import { randomUUID } from 'node:crypto'
import { Periodic } from '@signet/periodic'
import type { Cluster, Redis } from 'ioredis'

/** What happened to Redis before it worked again. */
export type RedisOutage = {
  /** When it stopped working: events accepted since then may not be in it; undefined if it always worked. */
  since: Date | undefined
  /** It may have lost every job. */
  wasEmptied: boolean
}

export type RedisWatchDeps = {
  connection: Redis | Cluster
  /** Name of the key that exists until Redis is emptied. */
  key: string
  now: () => Date
  /** Called when Redis works again, or was emptied while it worked. Called only once if both happened. */
  onRecovered: (outage: RedisOutage) => void
}

const INTERVAL_MS = 1000
const AWAY_MS = 1000

/**
 * Notices that Redis did not work for a while, and that it was emptied, also while its connections stayed open (`FLUSHALL`, or a failover
 * to an empty server behind the same address). All processes share one key with a random value. If it is gone or has changed, all jobs may
 * be gone.
 */
export class RedisWatch {
  readonly #checks: Periodic
  #value: string | null | undefined
  #awaySince: Date | undefined

  constructor(private readonly deps: RedisWatchDeps) {
    // A check that fails notes when Redis stopped working, and the next answer reports it.
    this.#checks = new Periodic({ everyMs: INTERVAL_MS, run: () => this.check(), onError: () => undefined })
  }

  start(): void {
    this.deps.connection.on('close', this.#onClose).on('ready', this.#onReady)
    this.#checks.start()
  }

  stop(): Promise<void> {
    this.deps.connection.off('close', this.#onClose).off('ready', this.#onReady)
    return this.#checks.stop()
  }

  async check(): Promise<void> {
    const { now, onRecovered } = this.deps
    const askedAt = now()
    const startedAt = performance.now()
    const value = await this.#sharedValue().catch((error: unknown) => {
      this.#awaySince ??= askedAt
      throw error
    })
    if (performance.now() - startedAt > AWAY_MS) this.#awaySince ??= askedAt
    const since = this.#awaySince
    const wasEmptied = this.#value !== undefined && value !== this.#value
    this.#awaySince = undefined
    this.#value = value
    if (since !== undefined || wasEmptied) onRecovered({ since, wasEmptied })
  }

  /** Asks with a write, because a Redis that is full or a replica answers reads and takes no jobs. */
  async #sharedValue(): Promise<string | null> {
    const { connection, key } = this.deps
    await connection.set(key, randomUUID(), 'NX')
    return connection.get(key)
  }

  // Notices an outage before the next check does, and also one of less than a second.
  readonly #onClose = () => {
    this.#awaySince ??= this.deps.now()
  }

  readonly #onReady = () => {
    if (this.#awaySince !== undefined) void this.#checks.request()
  }
}
