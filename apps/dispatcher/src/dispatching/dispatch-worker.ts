import { DELIVERY_BACKOFF, queueNames, type EventJob } from '@signet/webhook-core/queue'
import { Worker, type Job } from 'bullmq'
import type { FirstAttempts } from './first-attempts.js'
import type { Observer } from '../observers/observer.js'
import {
  internalFailureDelayMs,
  splitConcurrency,
  workerOptions,
  type WorkerConnection,
} from '../queues/worker-options.js'
import type { DispatchService } from './dispatch-service.js'
import type { AdmissionWindow } from './admission-window.js'

type DispatchWorkerDeps = {
  queue: WorkerConnection
  /** Events taken from the queue at once. A job lasts until the first attempts of its event have ended. */
  concurrency: number
  admissionWindow: AdmissionWindow
  dispatch: DispatchService
  firstAttempts: FirstAttempts
  observer: Observer
}

/** The workers of the `events` queue. */
export const createDispatchWorkers = (deps: DispatchWorkerDeps) =>
  splitConcurrency(deps.concurrency).map((concurrency) => createDispatchWorker({ ...deps, concurrency }))

function createDispatchWorker({
  queue,
  concurrency,
  admissionWindow,
  dispatch,
  firstAttempts,
  observer,
}: DispatchWorkerDeps) {
  const process = async ({ data: { eventId } }: Job<EventJob>): Promise<void> => {
    const admission = await admissionWindow.admit()
    try {
      const dispatched = await dispatch.run(eventId)
      admission.resize(dispatched.created.length)
      await firstAttempts.run(eventId, dispatched, () => admission.sent())
    } finally {
      admission.release()
    }
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
