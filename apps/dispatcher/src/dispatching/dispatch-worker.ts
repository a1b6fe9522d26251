import { DELIVERY_BACKOFF, queueNames, type EventJob } from '@signet/webhook-core/queue'
import { DelayedError, Worker, type Job } from 'bullmq'
import type { Observer } from '../observers/observer.js'
import {
  internalFailureDelayMs,
  splitConcurrency,
  workerOptions,
  type WorkerConnection,
} from '../queues/worker-options.js'
import type { EventService } from './event-service.js'

type DispatchWorkerDeps = {
  queue: WorkerConnection
  /** Events taken from the queue at once. A job lasts until the first attempts of its event have ended. */
  concurrency: number
  events: EventService
  observer: Observer
}

/** The workers of the `events` queue. */
export const createDispatchWorkers = (deps: DispatchWorkerDeps) =>
  splitConcurrency(deps.concurrency).map((concurrency) => createDispatchWorker({ ...deps, concurrency }))

function createDispatchWorker({ queue, concurrency, events, observer }: DispatchWorkerDeps) {
  const process = async (job: Job<EventJob>, token?: string): Promise<void> => {
    // Apart from this start and those that failed, every start of a job ended in a deferral.
    const wasDeferred = job.attemptsStarted > job.attemptsMade + 1
    const deferral = await events.run(job.data, wasDeferred)
    if (!deferral) return
    observer.deferred('conversions_full')
    await job.moveToDelayed(Date.now() + deferral.deferMs, token)
    throw new DelayedError()
  }
  const worker = new Worker<EventJob, void>(queueNames.events, process, {
    ...workerOptions(queue, concurrency),
    settings: { backoffStrategy },
  })
  worker.on('error', (error) => observer.queueError(queueNames.events, error))
  worker.on('stalled', (jobId) => observer.jobStalled(queueNames.events, jobId))
  worker.on('failed', (job, error) => observer.jobFailed(queueNames.events, job?.id, error))
  return worker
}

function backoffStrategy(attemptsMade: number, type?: string): number {
  if (type !== DELIVERY_BACKOFF) throw new Error(`unknown backoff ${type}`)
  return internalFailureDelayMs(attemptsMade)
}
