import type { Cluster, Redis } from 'ioredis'
import type { Observer } from '../observers/observer.js'

type LimitObserver = Pick<Observer, 'limitRedisUnreachable' | 'limitRedisReady'>

/** Connects to the Redis of limits and quotas. */
export async function connectLimitRedis(url: string, observer: LimitObserver): Promise<Redis | Cluster> {
  // Loaded only here, because the client takes a tenth of the memory that a service without Redis needs.
  const { connectRedis } = await import('@signet/redis')
  const redis = connectRedis({ url }, 'request')
  redis
    .on('error', (error: Error) => observer.limitRedisUnreachable(error))
    .on('ready', () => observer.limitRedisReady())
  return redis
}
