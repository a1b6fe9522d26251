import { queueNames } from '@signet/webhook-core/queue'
import type { Job } from 'bullmq'
import type { Observer } from '../observers/observer.js'
import { bullmq } from '../queues/bullmq.js'
import { parseAttemptJob, type AttemptJob } from '../queues/job-data.js'
import { internalFailureDelayMs } from '../queues/job-backoff.js'
import { QueueWorker, type WorkerConnection } from '../queues/queue-worker.js'
import type { AttemptService } from './attempt-service.js'
import { UnrecordedAttempt } from './record-result.js'

/** Thrown to have BullMQ run the job again when the schedule says so. BullMQ stores the message, so it is only the failure reason. */
class RetryLater extends Error {
  /** BullMQ would store the stack with the job. An expected failure does not need one. */
  override stack = ''

  constructor(
    readonly delayMs: number,
    reason: string,
  ) {
    super(reason)
    this.name = 'RetryLater'
  }
}

type AttemptWorkerDeps = {
  queue: WorkerConnection
  /** Jobs that the process works on concurrently. The endpoint limiter decides how many of them may be in flight. */
  concurrency: number
  attempts: AttemptService
  observer: Observer
  applyPause: () => Promise<unknown>
}

/**
 * The worker of the `deliveries` queue. Translates between BullMQ and `AttemptService`: knows jobs, and nothing about
 * deliveries.
 */
export function createAttemptWorker({
  queue,
  concurrency,
  attempts,
  observer,
  applyPause,
}: AttemptWorkerDeps) {
  const process = async (job: Job<AttemptJob, void>, token: string): Promise<void> => {
    const { lost = 0, unrecorded = 0 } = job.data
    const losses = job.stalledCounter + unrecorded > lost ? job.stalledCounter + unrecorded : 0
    // Stored before the attempt is recorded, so that one loss is never recorded twice.
    if (losses > 0) await job.updateData({ ...job.data, lost: losses })
    // Every earlier start ended in a failure or a deferral, so more starts than failures mean that the job was deferred.
    const wasDeferred = job.attemptsStarted > job.attemptsMade + 1
    const outcome = await attempts.run(job.data, { losses, wasDeferred }).catch(async (error: unknown) => {
      // If Redis cannot store this, it cannot take the job back either. The job then stalls, and that counts it as lost as well.
      if (error instanceof UnrecordedAttempt)
        await job.updateData({ ...job.data, unrecorded: unrecorded + 1 })
      throw error
    })
    if (outcome.kind === 'finished') return
    if (outcome.kind === 'retry') throw new RetryLater(outcome.delayMs, outcome.reason)
    await job.moveToDelayed(Date.now() + outcome.delayMs, token)
    throw new bullmq.DelayedError()
  }
  const worker = new QueueWorker<AttemptJob>(queueNames.deliveries, {
    queue,
    parse: parseAttemptJob,
    onDropped: (jobId) => observer.jobDropped(queueNames.deliveries, jobId),
    applyPause,
    capacity: concurrency,
    process,
    backoff: (failures, error) =>
      error instanceof RetryLater ? error.delayMs : internalFailureDelayMs(failures),
  })
  worker.on('error', (error) => observer.queueError(queueNames.deliveries, error))
  worker.on('stalled', (jobId) => observer.jobStalled(queueNames.deliveries, jobId))
  worker.on('failed', (job, error) => {
    if (!(error instanceof RetryLater)) observer.jobFailed(queueNames.deliveries, job?.id, error)
  })
  return worker
}
