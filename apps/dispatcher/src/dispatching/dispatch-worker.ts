import { DELIVERY_BACKOFF, queueNames, type EventJob } from '@signet/webhook-core'
import { Worker, type Job } from 'bullmq'
import { type FirstAttempts } from '../attempts/first-attempts.js'
import { type Events } from '../events.js'
import {
  ownFailureDelayMs,
  sharedOut,
  workerOptions,
  type WorkerConnection,
} from '../queues/worker-options.js'
import { type DispatchService } from './dispatch-service.js'
import { type RoomInHand } from './room-in-hand.js'

type DispatchWorkerDeps = {
  queue: WorkerConnection
  /** Events in hand at once: dispatched in batches, and kept until their first attempts have ended. */
  jobsInHand: number
  room: RoomInHand
  dispatch: DispatchService
  firstAttempts: FirstAttempts
  events: Events
}

/** The workers of the `events` queue. */
export const createDispatchWorkers = (deps: DispatchWorkerDeps) =>
  sharedOut(deps.jobsInHand).map((jobsInHand) => createDispatchWorker({ ...deps, jobsInHand }))

function createDispatchWorker({
  queue,
  jobsInHand,
  room,
  dispatch,
  firstAttempts,
  events,
}: DispatchWorkerDeps) {
  const process = async ({ data: { eventId } }: Job<EventJob>): Promise<void> => {
    const place = await room.enter()
    try {
      const dispatched = await dispatch.run(eventId)
      place.holds(dispatched.created.length)
      await firstAttempts.run(eventId, dispatched, () => place.sent())
    } finally {
      place.leave()
    }
  }
  const worker = new Worker<EventJob, void>(queueNames.events, process, {
    ...workerOptions(queue, jobsInHand),
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
