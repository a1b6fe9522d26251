/** The two queues and their connections. Redis is only the schedule. */
export { connectRedis, type RedisRole, type RedisSettings } from './redis-connection.js'
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
