import { RepeatedWarning, type Logger } from '@signet/telemetry'
import type { Cluster, Redis } from 'ioredis'

/** The connection for limits and quotas. */
export async function connectLimitRedis(url: string, log: Logger): Promise<Redis | Cluster> {
  // Loaded here, because it takes a tenth of the memory of a service that does without.
  const { connectRedis } = await import('@signet/redis')
  const redis = connectRedis({ url }, 'request')
  const unavailable = new RepeatedWarning(log, 'the rate limit Redis is unreachable')
  redis.on('error', (error: Error) => unavailable.warn(error)).on('ready', () => unavailable.reset())
  return redis
}
