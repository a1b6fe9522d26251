import { DELIVERY_BACKOFF, queueNames, type DeliveryJob } from '@signet/webhook-core'
import { DelayedError, Worker, type Job } from 'bullmq'
import { type Events } from '../events.js'
import {
  ownFailureDelayMs,
  sharedOut,
  workerOptions,
  type WorkerConnection,
} from '../queues/worker-options.js'
import { type AttemptService } from './attempt-service.js'

/** Thrown to have the job run again when the schedule says so. Its message is stored with the job: a word, no more. */
class RetryLater extends Error {
  /** BullMQ would store it with the job; an expected failure has no place in the code worth keeping. */
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
  /** Jobs taken from the queue at once; how many of them may be on their way to receivers is not decided here. */
  jobsInHand: number
  attempts: AttemptService
  events: Events
}

/** The workers of the `deliveries` queue, which together have so many jobs in hand. */
export function createAttemptWorkers(deps: AttemptWorkerDeps) {
  return sharedOut(deps.jobsInHand).map((jobsInHand) => createAttemptWorker({ ...deps, jobsInHand }))
}

/** Runs jobs of the `deliveries` queue. It knows BullMQ and nothing about deliveries. */
function createAttemptWorker({ queue, jobsInHand, attempts, events }: AttemptWorkerDeps) {
  const process = async (job: Job<AttemptJob>, token?: string): Promise<void> => {
    const losses = job.stalledCounter > (job.data.lost ?? 0) ? job.stalledCounter : 0
    // Remembered before anything is reported, so that one loss is not reported twice.
    if (losses > 0) await job.updateData({ ...job.data, lost: losses })
    // Every start but those that ended in a failure, and this one, was put back.
    const again = job.attemptsStarted > job.attemptsMade + 1
    const fate = await attempts.run(job.data, { losses, again })
    if (fate.kind === 'finished') return
    if (fate.kind === 'retry') throw new RetryLater(fate.delayMs, fate.reason)
    await job.moveToDelayed(Date.now() + fate.delayMs, token)
    throw new DelayedError()
  }
  const worker = new Worker<AttemptJob, void>(queueNames.deliveries, process, {
    ...workerOptions(queue, jobsInHand),
    settings: { backoffStrategy },
  })
  worker.on('error', (error) => events.queueTrouble(queueNames.deliveries, error))
  worker.on('stalled', (jobId) => events.jobStalled(queueNames.deliveries, jobId))
  worker.on('failed', (job, error) => {
    if (!(error instanceof RetryLater)) events.jobFailed(queueNames.deliveries, job?.id, error)
  })
  return worker
}

/** `lost`: how many losses of a worker with this job were already reported. */
type AttemptJob = DeliveryJob & { lost?: number }

/** BullMQ asks this for the delay of a failed job; the name is part of the job's options. */
function backoffStrategy(attemptsMade: number, type?: string, error?: Error): number {
  if (type !== DELIVERY_BACKOFF) throw new Error(`unknown backoff ${type}`)
  return error instanceof RetryLater ? error.delayMs : ownFailureDelayMs(attemptsMade)
}
