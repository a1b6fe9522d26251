import type { Cluster, Redis } from 'ioredis'
import type { Limiter } from './limit.js'
import { memoryLimiter } from './memory-limiter.js'
import { redisLimiter } from './redis-limiter.js'
import { withFallback } from './with-fallback.js'

export type LimiterOptions = {
  /** Prefix of the keys in Redis. */
  prefix: string
  /** If given, all replicas share the counts; otherwise each process counts for itself. */
  redis?: Redis | Cluster | undefined
  /** For counts in this process. Redis uses its own clock, so that replicas agree. */
  now?: (() => Date) | undefined
}

/** Counts in Redis, or in this process while Redis does not respond, which makes limits less exact but causes no outage. */
export function createLimiter({ prefix, redis, now = () => new Date() }: LimiterOptions): Limiter {
  const local = memoryLimiter(now)
  if (!redis) return local
  const shared = redisLimiter(redis, prefix)
  return {
    take: (all) =>
      withFallback(
        redis,
        () => shared.take(all),
        () => local.take(all),
      ),
    putBack: (taken) =>
      withFallback(
        redis,
        () => shared.putBack(taken),
        () => local.putBack(taken),
      ),
  }
}
