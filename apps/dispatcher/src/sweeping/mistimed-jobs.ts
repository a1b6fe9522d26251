import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { JobPresence } from '../queues/job-presence.js'
import { eachPage } from './pages.js'

export type MistimedJobsDeps = {
  queues: Pick<WebhookQueues, 'startDelayed'>
  presence: Pick<JobPresence, 'delayedBetween'>
  now: () => Date
}

/**
 * Jobs are deferred for five minutes at most, and for one after a failure on our side. BullMQ delays them by the clock of the process,
 * so one that waits longer, for work that is due, was delayed by a clock that was fast, or when its row said another time.
 */
export const MAX_DEFERRAL_MS = 6 * 60_000
/** By then a worker has started a job whose time has come, if its clock is not slow. */
const STARTED_MS = 10_000

/**
 * Starts jobs that workers would start too late, because their clocks were or are wrong. A job that starts too early, or while all
 * workers are busy, does no harm: the row decides. Returns how many of them had been delayed too far. Jobs of `deliveries` may wait for
 * days, so for those `requeueOverdueDeliveries` asks the rows.
 */
export async function startMistimedJobs(deps: MistimedJobsDeps, stop: AbortSignal): Promise<number> {
  const now = deps.now().getTime()
  const past = { to: now - STARTED_MS }
  await startDelayed(deps, 'deliveries', past, stop)
  await startDelayed(deps, 'events', past, stop)
  return startDelayed(deps, 'events', { from: now + MAX_DEFERRAL_MS }, stop)
}

/** Each page is the first one, because what was started is no longer delayed. */
const startDelayed = (
  { queues, presence }: MistimedJobsDeps,
  queue: 'events' | 'deliveries',
  times: { from?: number; to?: number },
  stop: AbortSignal,
): Promise<number> =>
  eachPage<string>(
    () => presence.delayedBetween(queue, times),
    (jobIds) => queues.startDelayed(queue, jobIds),
    stop,
  )
