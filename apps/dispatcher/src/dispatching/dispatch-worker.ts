import { queueNames, type QueuedEventRef, type WebhookQueues } from '@signet/webhook-core/queue'
import type { Job } from 'bullmq'
import { bullmq } from '../queues/bullmq.js'
import type { Observer } from '../observers/observer.js'
import { parseEventsJob, type DispatchJob } from '../queues/job-data.js'
import { UnrecordedRequests } from '../attempts/unrecorded-requests.js'
import { internalFailureDelayMs, QueueWorker, type WorkerConnection } from '../queues/queue-worker.js'
import type { EventService } from './event-service.js'

type DispatchWorkerDeps = {
  queue: WorkerConnection
  /** Events that the process works on concurrently, each until its first attempts have ended. */
  concurrency: number
  events: Pick<EventService, 'run'>
  queues: Pick<WebhookQueues, 'splitOff'>
  observer: Observer
}

/**
 * The worker of the `events` queue. The events of a job run side by side. One that fails or has to come back later gets a job
 * of its own, so that it delays no other. A job is done when each of its events has ended or has another job.
 */
export function createDispatchWorker({ queue, concurrency, events, queues, observer }: DispatchWorkerDeps) {
  /** Failures propagate, so that BullMQ runs the job again, later each time. */
  async function runAlone(job: Job<DispatchJob, void>, event: QueuedEventRef, token: string): Promise<void> {
    const { deferred: deferredFor, unsent = 0 } = job.data
    const requests = new UnrecordedRequests()
    const history = { deferredFor, wasLost: wasLost(job) }
    const deferral = await events.run(event, history, requests).catch(async (error: unknown) => {
      if (requests.isEmpty) await job.updateData({ ...job.data, unsent: unsent + 1 })
      throw error
    })
    if (!deferral) return
    observer.deferred(deferral.reason)
    if (deferral.reason !== deferredFor) await job.updateData({ ...job.data, deferred: deferral.reason })
    await job.moveToDelayed(Date.now() + deferral.deferMs, token)
    throw new bullmq.DelayedError()
  }

  async function runOrSplitOff(event: QueuedEventRef, job: Job<DispatchJob, void>): Promise<void> {
    const requests = new UnrecordedRequests()
    const [deferral, error] = await events.run(event, { wasLost: wasLost(job) }, requests).then(
      (result) => [result, undefined] as const,
      (reason: unknown) => [undefined, reason] as const,
    )
    if (error !== undefined) {
      observer.jobFailed(queueNames.events, event.eventId, error)
      await queues.splitOff(event, {
        delayMs: internalFailureDelayMs(1),
        ...((!requests.isEmpty || wasLost(job)) && { failed: true }),
        priority: job.priority,
      })
    } else if (deferral) {
      observer.deferred(deferral.reason)
      await queues.splitOff(event, {
        delayMs: deferral.deferMs,
        deferred: deferral.reason,
        // Its own job has no history of its own: whether it may have been sent goes with it.
        ...(wasLost(job) && { failed: true }),
        priority: job.priority,
      })
    }
  }

  const worker = new QueueWorker<DispatchJob>(queueNames.events, {
    queue,
    parse: parseEventsJob,
    onDropped: (jobId) => observer.jobDropped(queueNames.events, jobId),
    capacity: concurrency,
    unitsOf: (data) => data.events.length,
    async process(job, token, release) {
      const [first, ...others] = job.data.events
      if (first && others.length === 0) return runAlone(job, first, token)
      const settled = await Promise.allSettled(
        job.data.events.map((event) => runOrSplitOff(event, job).finally(release)),
      )
      // Without its own job an event stays in this one, which runs again. The others find nothing left to do.
      const failed = settled.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
  })
  worker.on('error', (error) => observer.queueError(queueNames.events, error))
  worker.on('stalled', (jobId) => observer.jobStalled(queueNames.events, jobId))
  worker.on('failed', (job, error) => observer.jobFailed(queueNames.events, job?.id, error))
  return worker
}

/** True if an earlier run may have sent requests without recording them, because its worker died or could not record. */
const wasLost = ({ stalledCounter, attemptsMade, data: { unsent = 0, failed } }: Job<DispatchJob>): boolean =>
  stalledCounter > 0 || attemptsMade > unsent || failed === true
