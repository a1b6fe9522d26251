import { AppError } from '@signet/errors'
import type { Cluster, Redis } from 'ioredis'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'
import { fallBackWhenSlow } from './fall-back-when-slow.js'

export type RateLimitOptions = {
  /** Unique among limits; part of the key in Redis. */
  name: string
  /** Requests allowed in `windowSeconds` for one key. 0 switches the limit off. */
  points: number
  windowSeconds: number
  /** Shared by all replicas when given, else each process counts for itself. */
  redis?: Redis | Cluster | undefined
  code?: string
  message?: string
}

export type RateLimit = {
  /** Counts one request of `key`, or throws `limited` with the seconds to wait. */
  consume(key: string): Promise<void>
  /** Throws like `consume` when nothing is left, without counting: for limits on failures. */
  check(key: string): Promise<void>
  /** Gives back what `consume` took: for limits on failures that must hold against parallel attempts. */
  refund(key: string): Promise<void>
}

/** A limit on requests per key and window. */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const {
    name,
    points,
    windowSeconds,
    redis,
    code = 'too_many_requests',
    message = 'Too many requests',
  } = options
  if (points === 0) return UNLIMITED
  const memory = new RateLimiterMemory({ keyPrefix: name, points, duration: windowSeconds })
  const shared = redis
    ? new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `signet:limit:${name}`,
        points,
        duration: windowSeconds,
        // Without Redis each replica falls back to counting alone: worse limits, but no outage.
        insuranceLimiter: memory,
      })
    : memory
  const ask = <T>(question: (limiter: RateLimiterAbstract) => Promise<T>): Promise<T> =>
    redis
      ? fallBackWhenSlow(
          redis,
          () => question(shared),
          () => question(memory),
        )
      : question(memory)
  const refuse = (msBeforeNext: number) =>
    new AppError('limited', code, message, { retryAfterSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)) })
  return {
    async consume(key) {
      try {
        await ask((limiter) => limiter.consume(key))
      } catch (reason) {
        throw reason instanceof RateLimiterRes ? refuse(reason.msBeforeNext) : reason
      }
    },
    async check(key) {
      const state = await ask((limiter) => limiter.get(key))
      if (state !== null && state.remainingPoints <= 0) throw refuse(state.msBeforeNext)
    },
    async refund(key) {
      await ask((limiter) => limiter.reward(key))
    },
  }
}

const UNLIMITED: RateLimit = {
  consume: () => Promise.resolve(),
  check: () => Promise.resolve(),
  refund: () => Promise.resolve(),
}
