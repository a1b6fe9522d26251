import { type Worker } from 'bullmq'
import { type FirstAttempts } from './attempts/first-attempts.js'
import { type EndpointLanes } from './fairness/endpoint-lanes.js'
import { type Retention } from './retention/retention.js'
import { type Sweeper } from './sweeping/sweeper.js'

export type EngineDeps = {
  workers: readonly Worker[]
  lanes: EndpointLanes
  sweeper: Sweeper
  retention: Retention
  firstAttempts: Pick<FirstAttempts, 'concluded'>
  /** Ends all waiting for the database. */
  giveUp: AbortController
  onError: (error: unknown) => void
}

/**
 * An attempt takes 5 s at most by default, and a stop 10 s; in between lie the commit and saying goodbye to Redis. With a
 * `DISPATCHER_TIMEOUT_MS` of more than this, attempts that are still in flight at the end are made again elsewhere.
 */
const DRAIN_MS = 7_000
const LAST_WORDS_MS = 1_000

/** Everything that works by itself, started and stopped together. */
export class Engine {
  constructor(private readonly deps: EngineDeps) {}

  start(): void {
    const { workers, sweeper, retention, onError } = this.deps
    for (const worker of workers) worker.run().catch(onError)
    sweeper.start()
    retention.start()
  }

  /**
   * Takes no new jobs, sends those that only wait back into the queue and lets attempts in flight end and be recorded. What
   * cannot, because PostgreSQL or Redis is away, is left to another worker: its job lock runs out.
   */
  async stop(): Promise<void> {
    const { workers, lanes, sweeper, retention, firstAttempts, giveUp, onError } = this.deps
    lanes.close()
    const closed = Promise.all([sweeper.stop(), retention.stop(), ...workers.map((worker) => worker.close())])
      .then(() => firstAttempts.concluded())
      .catch(onError)
    if (await within(DRAIN_MS, closed)) return
    giveUp.abort()
    if (await within(LAST_WORDS_MS, closed)) return
    onError(new Error('work was left behind at the stop; another worker will take it over'))
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)))
  try {
    return await Promise.race([work.then(() => true), limit])
  } finally {
    clearTimeout(timer)
  }
}
