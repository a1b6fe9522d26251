import { DELIVERY_BACKOFF, queueNames, type EventJob } from '@signet/webhook-core'
import { Worker } from 'bullmq'
import { type Events } from '../events.js'
import {
  ownFailureDelayMs,
  sharedOut,
  workerOptions,
  type WorkerConnection,
} from '../queues/worker-options.js'
import { type DispatchService } from './dispatch-service.js'

type DispatchWorkerDeps = { queue: WorkerConnection; dispatch: DispatchService; events: Events }

/** Events in hand at once; they are dispatched in batches. */
const EVENTS_IN_HAND = 64

/** The workers of the `events` queue. */
export const createDispatchWorkers = (deps: DispatchWorkerDeps) =>
  sharedOut(EVENTS_IN_HAND).map((inHand) => createDispatchWorker(deps, inHand))

function createDispatchWorker({ queue, dispatch, events }: DispatchWorkerDeps, inHand: number) {
  const worker = new Worker<EventJob, void>(queueNames.events, (job) => dispatch.run(job.data.eventId), {
    ...workerOptions(queue, inHand),
    settings: { backoffStrategy },
  })
  worker.on('error', (error) => events.queueTrouble(queueNames.events, error))
  worker.on('stalled', (jobId) => events.jobStalled(queueNames.events, jobId))
  worker.on('failed', (job, error) => events.jobFailed(queueNames.events, job?.id, error))
  return worker
}

function backoffStrategy(attemptsMade: number, type?: string): number {
  if (type !== DELIVERY_BACKOFF) throw new Error(`unknown backoff ${type}`)
  return ownFailureDelayMs(attemptsMade)
}
