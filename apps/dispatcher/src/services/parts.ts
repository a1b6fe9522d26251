import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { Registry } from 'prom-client'
import type { DispatcherConfig } from '../config/config.js'
import type { createPools } from '../database/pools.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { Observer } from '../observers/observer.js'
import type { JobPresence } from '../queues/job-presence.js'

/** What the composition root opens and the services share. */
export type Parts = {
  config: DispatcherConfig
  pools: ReturnType<typeof createPools>
  queues: WebhookQueues
  presence: JobPresence
  registry: Registry
  observer: Observer
  retryWhileUnavailable: RetryWhileUnavailable
  /** Ends the retries that wait for the database. */
  retriesStopped: AbortSignal
  now: () => Date
}

/**
 * Jobs to take for each attempt in flight: while one is sent, others are read, recorded or completed. With only one each,
 * those steps would leave permits unused, and their batches would be small.
 */
const JOBS_PER_ATTEMPT = 3
/**
 * Events are ids until they are admitted. An account whose receivers hang may publish 50 a second: all fit until their attempts time
 * out, and the process still takes events of others from the queue.
 */
const EVENTS_PER_ATTEMPT = 9

/** How much of each queue the process works on at once. */
export const capacitiesOf = ({ concurrency }: DispatcherConfig) => ({
  events: EVENTS_PER_ATTEMPT * concurrency,
  jobs: JOBS_PER_ATTEMPT * concurrency,
})
