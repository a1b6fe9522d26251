/** The hash tag keeps all keys of a queue in one slot of a Redis Cluster. */
export const DEFAULT_QUEUE_PREFIX = '{webhooks}'
