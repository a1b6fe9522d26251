import type { Logger } from '@signet/telemetry'
import type { Cluster, Redis } from 'ioredis'

/** The connection for limits and quotas. */
export async function connectLimitRedis(url: string, log: Logger): Promise<Redis | Cluster> {
  // Loaded here, because it takes a tenth of the memory of a service that does without.
  const { connectRedis } = await import('@signet/redis')
  const redis = connectRedis({ url }, 'request')
  redis.on('error', (error: Error) => log.warn('the rate limit Redis is unreachable', { error }))
  return redis
}
