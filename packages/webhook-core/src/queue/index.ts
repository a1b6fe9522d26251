/** The two queues and their connections. Redis is only the schedule. */
export {
  DELIVERY_BACKOFF,
  deliveryJobId,
  eventJobId,
  queueNames,
  WebhookQueues,
  type DeliveryJob,
  type DueDelivery,
  type EventJob,
  type EventToPublish,
  type QueueSettings,
} from './queues.js'
