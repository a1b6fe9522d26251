import type { EndpointId, EventId } from '../ids.js'
import type { PublishedEvent } from './publish-priority.js'

/** `bytes` is approximately how much of the event must be read and sent, if the caller knows. */
export type EventToPublish = PublishedEvent & { id: EventId }

/** From this size on, a job says how large its event is, because a worker must not read many such events at the same time. */
export const LARGE_EVENT_BYTES = 256 * 1024

/** A job's reference to an event, with its size if it is large. */
export type QueuedEventRef = { eventId: EventId; accountId: string; bytes?: number }

/** Why an event was deferred: the process has as many events of its account as it may have, or too many conversions are waiting. */
export type EventDeferralReason = 'account_full' | 'conversions_full'

/**
 * A job of the `events` queue, usually with the events that were published together. An event that fails or has to wait gets a separate
 * job, which says why: `deferred` is the reason why it was last deferred. `failed` means that the event may have been sent by its
 * earlier job, without a record of it; if `unrecorded` is present, it lists the only endpoints to which that may have happened.
 */
export type EventsJob = {
  events: QueuedEventRef[]
  deferred?: EventDeferralReason
  failed?: boolean
  unrecorded?: EndpointId[]
}

/** Limits what a process takes from the queue at once, and therefore what another process must repeat if the first one dies. */
export const MAX_EVENTS_PER_JOB = 32

/** Prefix of the ids of jobs with several events, before the id of the first one. The job of a single event has the event's id. */
const LIST_PREFIX = 'list_'

/**
 * Deterministic, so that adding a job twice is harmless. A job id must not contain `:` or consist only of digits. The queues must not
 * keep finished jobs: BullMQ silently ignores a job if one with its id still exists, even if that one failed.
 */
export const eventJobId = (id: EventId): string => id

export const isListJobId = (jobId: string): boolean => jobId.startsWith(LIST_PREFIX)

/** The id of a job with several events, derived from the first one. */
export const listJobId = (first: EventId): string => `${LIST_PREFIX}${first}`

export const eventsJobId = ([first, ...others]: readonly QueuedEventRef[]): string => {
  if (first === undefined) throw new Error('a job without events')
  return others.length === 0 ? eventJobId(first.eventId) : listJobId(first.eventId)
}

const refTo = ({ id, accountId, bytes = 0 }: EventToPublish): QueuedEventRef =>
  bytes < LARGE_EVENT_BYTES ? { eventId: id, accountId } : { eventId: id, accountId, bytes }

export type EventsJobToAdd = { events: QueuedEventRef[]; priority: number }

/**
 * Divides events into jobs, with each event once. Events within their accounts' allowances share jobs. An account beyond its allowance
 * gets its own jobs, because others would wait behind it. Such a job has the priority of its last event.
 */
export function divideIntoJobs(
  events: readonly EventToPublish[],
  priorityOf: (event: EventToPublish) => number,
): EventsJobToAdd[] {
  const jobs: EventsJobToAdd[] = []
  const open = new Map<string | null, EventsJobToAdd>()
  for (const event of new Map(events.map((event) => [event.id, event])).values()) {
    const priority = priorityOf(event)
    const sharedBy = priority === 0 ? null : event.accountId
    let job = open.get(sharedBy)
    if (job === undefined || job.events.length === MAX_EVENTS_PER_JOB) {
      job = { events: [], priority }
      jobs.push(job)
      open.set(sharedBy, job)
    }
    job.events.push(refTo(event))
    job.priority = priority
  }
  return jobs
}
