import { Periodic } from '@signet/periodic'
import { CLOCK_INTERVAL_MS, type SharedClock } from '@signet/db'
import pTimeout from 'p-timeout'
import type { Worker } from 'bullmq'
import type { BacklogCanceller } from './attempts/backlog-canceller.js'
import type { DeferredJobs } from './attempts/deferred-jobs.js'
import type { FirstAttempts } from './dispatching/first-attempts.js'
import type { EndpointLimiter } from './fairness/endpoint-limiter.js'
import type { RedisWatch } from './queues/redis-watch.js'
import type { Recoverer } from './recovering/recoverer.js'
import type { Retention } from './retention/retention.js'
import type { Sweeper } from './sweeping/sweeper.js'

export type EngineDeps = {
  workers: readonly Worker[]
  limiter: EndpointLimiter
  deferredJobs: Pick<DeferredJobs, 'start' | 'stop'>
  clock: Pick<SharedClock, 'adjust'>
  sweeper: Sweeper
  retention: Retention
  recoverer: Pick<Recoverer, 'start' | 'stop'>
  redisWatch: Pick<RedisWatch, 'start' | 'stop'>
  firstAttempts: Pick<FirstAttempts, 'concluded'>
  canceller: Pick<BacklogCanceller, 'stop'>
  /** Ends the retries that wait for the database. */
  stopRetries: AbortController
  onError: (error: unknown) => void
  /** Called when the engine cannot start because the database is unavailable, with the error and the number of tries. */
  onUnavailable: (error: unknown, tries: number) => void
}

/**
 * By default an attempt takes at most 5 s. `runService` exits 13 s after the signal, and besides the grace below, closing the
 * listener and the connections takes its part of that. With a longer `DISPATCHER_TIMEOUT_MS`, attempts still in flight after this
 * time run again elsewhere.
 */
const DRAIN_MS = 7_000
const ABORT_GRACE_MS = 1_000

/** Starts and stops everything that runs in the background. */
export class Engine {
  readonly #clock: Periodic
  #hasBegun = false
  #tries = 0

  constructor(private readonly deps: EngineDeps) {
    this.#clock = new Periodic({
      everyMs: CLOCK_INTERVAL_MS,
      run: async () => {
        await deps.clock.adjust()
        this.#begin()
      },
      onError: (error) => {
        // After the start, everything else that needs the database reports its outages.
        if (!this.#hasBegun) deps.onUnavailable(error, (this.#tries += 1))
      },
    })
  }

  /** Starts the work as soon as it knows the time of the database. */
  start(): void {
    this.#clock.start()
  }

  #begin(): void {
    if (this.#hasBegun || this.#clock.stopping.aborted) return
    this.#hasBegun = true
    const { workers, deferredJobs, sweeper, retention, recoverer, redisWatch, onError } = this.deps
    for (const worker of workers) worker.run().catch(onError)
    deferredJobs.start()
    sweeper.start()
    retention.start()
    recoverer.start()
    redisWatch.start()
  }

  /**
   * Takes no new jobs, defers those that are only waiting, and lets attempts in flight finish and be recorded. Work that
   * cannot finish because PostgreSQL or Redis is down is left to another worker, which takes over when the job lock expires.
   */
  async stop(): Promise<void> {
    const {
      workers,
      limiter,
      deferredJobs,
      sweeper,
      retention,
      recoverer,
      redisWatch,
      firstAttempts,
      canceller,
      stopRetries,
      onError,
    } = this.deps
    limiter.close()
    // First, because its first run would start what is stopped here.
    const stopped = this.#clock.stop()
    const closed = Promise.all([
      stopped,
      deferredJobs.stop(),
      sweeper.stop(),
      retention.stop(),
      recoverer.stop(),
      redisWatch.stop(),
      ...workers.map((worker) => worker.close()),
    ])
      .then(() => Promise.all([firstAttempts.concluded(), canceller.stop()]))
      .catch(onError)
    if (await within(DRAIN_MS, closed)) return
    stopRetries.abort()
    if (await within(ABORT_GRACE_MS, closed)) return
    onError(new Error('stopped with work in progress; another worker will take it over'))
  }
}

const within = (milliseconds: number, work: Promise<unknown>): Promise<boolean> =>
  pTimeout(
    work.then(() => true),
    { milliseconds, fallback: () => false },
  )
