import type { Cluster, Redis } from 'ioredis'
import type { Observer } from '../observers/observer.js'

type LimitObserver = Pick<Observer, 'limitRedisUnreachable' | 'limitRedisReady'>

/** The connection for limits and quotas. */
export async function connectLimitRedis(url: string, observer: LimitObserver): Promise<Redis | Cluster> {
  // Loaded here, because it takes a tenth of the memory of a service that does without.
  const { connectRedis } = await import('@signet/redis')
  const redis = connectRedis({ url }, 'request')
  redis
    .on('error', (error: Error) => observer.limitRedisUnreachable(error))
    .on('ready', () => observer.limitRedisReady())
  return redis
}
