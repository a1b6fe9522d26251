/** The two queues and their connections. Redis only holds the schedule. */
export {
  eventJobId,
  isListJobId,
  LARGE_EVENT_BYTES,
  listJobId,
  MAX_EVENTS_PER_JOB,
  type EventDeferralReason,
  type EventsJob,
  type EventToPublish,
  type QueuedEventRef,
} from './event-jobs.js'
export {
  DELIVERY_BACKOFF,
  deliveryJobId,
  jobOptions,
  queueNames,
  WebhookQueues,
  type DeliveryJob,
  type DueDelivery,
} from './queues.js'
