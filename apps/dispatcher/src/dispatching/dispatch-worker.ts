import type { EndpointId } from '@signet/webhook-core'
import {
  queueNames,
  type EventsJob,
  type QueuedEventRef,
  type WebhookQueues,
} from '@signet/webhook-core/queue'
import type { Job } from 'bullmq'
import { bullmq } from '../queues/bullmq.js'
import type { Observer } from '../observers/observer.js'
import { parseEventsJob, type DispatchJob } from '../queues/job-data.js'
import { UnrecordedRequests, type Unrecorded } from '../attempts/unrecorded-requests.js'
import { internalFailureDelayMs } from '../queues/job-backoff.js'
import { QueueWorker, type WorkerConnection } from '../queues/queue-worker.js'
import type { EventService } from './event-service.js'

type DispatchWorkerDeps = {
  queue: WorkerConnection
  /** Events that the process works on concurrently, each until its first attempts have ended. */
  concurrency: number
  events: Pick<EventService, 'run'>
  queues: Pick<WebhookQueues, 'splitOff'>
  observer: Observer
  applyPause: () => Promise<unknown>
}

/**
 * The worker of the `events` queue. The events of a job run side by side. One that fails or has to come back later gets its own
 * job, so that it does not delay the others. A job is done when each of its events has ended or has another job.
 */
export function createDispatchWorker({
  queue,
  concurrency,
  events,
  queues,
  observer,
  applyPause,
}: DispatchWorkerDeps) {
  /** Failures propagate, so that BullMQ runs the job again, later each time. */
  async function runAlone(job: Job<DispatchJob, void>, event: QueuedEventRef, token: string): Promise<void> {
    const { deferred: deferredFor } = job.data
    const requests = new UnrecordedRequests()
    const history = { deferredFor, unrecorded: unrecordedOf(job) }
    const deferral = await events.run(event, history, requests).catch(async (error: unknown) => {
      await job.updateData(afterFailure(job.data, requests))
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
    const unrecorded = unrecordedOf(job)
    const [deferral, error] = await events.run(event, { unrecorded }, requests).then(
      (result) => [result, undefined] as const,
      (reason: unknown) => [undefined, reason] as const,
    )
    if (error !== undefined) {
      observer.jobFailed(queueNames.events, event.eventId, error)
      await queues.splitOff(event, {
        delayMs: internalFailureDelayMs(1),
        ...failureOf(unrecorded, requests.endpointIds),
        priority: job.priority,
      })
    } else if (deferral) {
      observer.deferred(deferral.reason)
      await queues.splitOff(event, {
        delayMs: deferral.deferMs,
        deferred: deferral.reason,
        // The new job starts without a history, so tell it where the event may have been sent.
        ...failureOf(unrecorded),
        priority: job.priority,
      })
    }
  }

  const worker = new QueueWorker<DispatchJob>(queueNames.events, {
    queue,
    parse: parseEventsJob,
    onDropped: (jobId) => observer.jobDropped(queueNames.events, jobId),
    applyPause,
    capacity: concurrency,
    unitsOf: (data) => data.events.length,
    async process(job, token, release) {
      const [first, ...others] = job.data.events
      if (first && others.length === 0) return runAlone(job, first, token)
      const settled = await Promise.allSettled(
        job.data.events.map((event) => runOrSplitOff(event, job).finally(release)),
      )
      // An event that could not be split off stays in this job, which fails and runs again. Its other events have nothing left to do then.
      const failed = settled.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
  })
  worker.on('error', (error) => observer.queueError(queueNames.events, error))
  worker.on('stalled', (jobId) => observer.jobStalled(queueNames.events, jobId))
  worker.on('failed', (job, error) => observer.jobFailed(queueNames.events, job?.id, error))
  return worker
}

/** To which endpoints earlier runs may have sent the event without recording it: `any` if a worker died, or could not store them. */
function unrecordedOf({ stalledCounter, attemptsMade, data }: Job<DispatchJob>): Unrecorded {
  const { unsent = 0, listed = 0, failed = false, unrecorded } = data
  if (stalledCounter > 0 || attemptsMade > unsent + listed || (failed && !unrecorded)) return 'any'
  return new Set(unrecorded)
}

/** The data of a job after a failed run, which adds one to either of the two counts. */
function afterFailure(data: DispatchJob, { endpointIds }: UnrecordedRequests): DispatchJob {
  const { unsent = 0, listed = 0, unrecorded = [] } = data
  return endpointIds.length === 0
    ? { ...data, unsent: unsent + 1 }
    : { ...data, listed: listed + 1, unrecorded: [...new Set([...unrecorded, ...endpointIds])] }
}

/** What the job of an event that is split off has to know about earlier runs. */
function failureOf(
  unrecorded: Unrecorded,
  endpointIds: readonly EndpointId[] = [],
): Pick<EventsJob, 'failed' | 'unrecorded'> {
  if (unrecorded === 'any') return { failed: true }
  const all = [...unrecorded, ...endpointIds]
  return all.length === 0 ? {} : { failed: true, unrecorded: all }
}
