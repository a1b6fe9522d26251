/** The two queues and their connections. Redis is only the schedule. */
export { bullmq } from './bullmq.js'
export {
  eventJobId,
  isListJobId,
  MAX_EVENTS_PER_JOB,
  type EventsJob,
  type EventToPublish,
  type QueuedEventRef,
} from './event-jobs.js'
export {
  DELIVERY_BACKOFF,
  deliveryJobId,
  queueNames,
  WebhookQueues,
  type DeliveryJob,
  type DueDelivery,
  type QueueSettings,
} from './queues.js'
