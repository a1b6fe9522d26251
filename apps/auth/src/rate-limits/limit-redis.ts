import type { Logger } from '@signet/telemetry'
import type { Redis } from 'ioredis'

/** A connection for counting. It fails fast: no request waits for Redis to come back. */
export async function connectLimitRedis(url: string, log: Logger): Promise<Redis> {
  // Loaded here, because it takes a tenth of the memory of a service that does without.
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    commandTimeout: 500,
    connectTimeout: 2000,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 200, 5000),
  })
  redis.on('error', (error: Error) => log.warn('the rate limit Redis is unreachable', { error }))
  return redis
}
