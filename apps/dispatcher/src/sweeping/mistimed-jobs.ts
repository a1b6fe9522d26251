import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { JobPresence } from '../queues/job-presence.js'
import { eachPage } from './pages.js'

export type MistimedJobsDeps = {
  queues: Pick<WebhookQueues, 'startDelayed'>
  presence: Pick<JobPresence, 'delayedBetween'>
  now: () => Date
}

/**
 * Longer than any job is deferred: five minutes at most, or one after a failure on our side. A job that is delayed for longer although its
 * work is due got its delay from a process whose clock was fast, or before the time in its row was changed.
 */
export const MAX_DEFERRAL_MS = 6 * 60_000
/** If a job has not been started this long after its time, the clocks of the workers are slow, or all workers are busy. */
const STARTED_MS = 10_000

/**
 * Starts jobs that would start too late because the clock of a process was or is wrong. It may start some that are not late, which does no
 * harm: a worker that takes one looks at the row to see whether it is due. Returns how many jobs of `events` had been delayed too far. Jobs
 * of `deliveries` may rightly be delayed for days; `requeueOverdueDeliveries` compares those with their rows.
 */
export async function startMistimedJobs(deps: MistimedJobsDeps, stop: AbortSignal): Promise<number> {
  const now = deps.now().getTime()
  const past = { to: now - STARTED_MS }
  await startDelayed(deps, 'deliveries', past, stop)
  await startDelayed(deps, 'events', past, stop)
  return startDelayed(deps, 'events', { from: now + MAX_DEFERRAL_MS }, stop)
}

/** Always reads the first page: jobs that were started are no longer among the delayed ones. */
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
