import type { Cluster, Redis } from 'ioredis'
import type { Limiter } from './limit.js'
import { memoryLimiter } from './memory-limiter.js'
import { redisLimiter } from './redis-limiter.js'
import { withFallback } from './with-fallback.js'

export type LimiterOptions = {
  /** The keys in Redis begin with this. */
  prefix: string
  /** Shared by all replicas when given; otherwise each process counts for itself. */
  redis?: Redis | Cluster | undefined
  /** For counts in this process. Redis uses its own clock, so that replicas agree. */
  now?: (() => Date) | undefined
}

/** Counts in Redis, and in this process while Redis does not respond: less exact limits, but no outage. */
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
