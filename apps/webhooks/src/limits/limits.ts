import { AppError } from '@signet/errors'
import { clientAddress, type RequestContext } from '@signet/http'
import { createLimiter } from '@signet/rate-limits'
import { clientNetwork } from '@signet/rate-limits/network'
import type { Request } from 'express'
import type { Cluster, Redis } from 'ioredis'
import type { WebhooksConfig } from '../config/config.js'
import { OpenAnswers } from './open-answers.js'

/** A limit on requests by IP address, as routes take it. */
export type IpLimit = (req: Request, context: RequestContext) => Promise<void>

/** A limit on uses of a key. */
export type RateLimit = {
  /** Counts one use, or throws `limited` with the seconds to wait. */
  consume(key: string): Promise<void>
  /** Gives back what `consume` took, for limits on failures that must hold against parallel attempts. */
  refund(key: string): Promise<void>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const MAX_OPEN_SAMPLES = 2
export const MAX_OPEN_RESULTS = 4
const MAX_OPEN_FORMS = 2

/** Every rate limit of docs/specification.md#rate-limits. They are counted in Redis, so that replicas share them. */
export function createLimits(config: WebhooksConfig, redis: Redis | Cluster) {
  const limit = (name: string, amount: number, windowMs: number): RateLimit =>
    config.limitsEnabled && amount > 0
      ? createLimit({ prefix: `${config.queuePrefix}:limit:${name}`, amount, windowMs, redis })
      : UNLIMITED
  const address = (req: Request) => clientAddress(req, config.trustProxyHops)
  const network = (req: Request) => clientNetwork(address(req))
  const perAddress = (name: string, amount: number, windowMs: number): IpLimit => {
    const counter = limit(name, amount, windowMs)
    return (req) => counter.consume(network(req))
  }
  return {
    address,
    /** Returns the address that limits count by. For IPv6, this is the /64, because one client can use every address in it. */
    network,
    register: perAddress('register', config.limitRegister, HOUR_MS),
    authorize: perAddress('authorize', config.limitAuthorize, 15 * MINUTE_MS),
    token: perAddress('token', config.limitToken, 15 * MINUTE_MS),
    revoke: perAddress('revoke', config.limitRevoke, 15 * MINUTE_MS),
    login: perAddress('login', config.limitLogin, 15 * MINUTE_MS),
    bearerFailures: perAddress('bearer-failures', config.limitBearerFailures, MINUTE_MS),
    clientFailures: limit('client-failures', config.limitClientFailures, MINUTE_MS),
    v1: limit('v1', config.limitV1, MINUTE_MS),
    v1Writes: limit('v1-writes', config.limitV1Writes, MINUTE_MS),
    testEvents: limit('test-events', config.limitTestEvents, MINUTE_MS),
    /** How many lists of samples, of up to 16 MiB each, an account may be reading at the same time. */
    samples: new OpenAnswers(config.limitsEnabled ? MAX_OPEN_SAMPLES : Infinity),
    /** How many long results of MCP tools, of up to 2 Mi characters each, an account may be reading at the same time. */
    results: new OpenAnswers(config.limitsEnabled ? MAX_OPEN_RESULTS : Infinity),
    /** How many forms of the portal that are larger than usual an account may be sending at the same time. */
    forms: new OpenAnswers(config.limitsEnabled ? MAX_OPEN_FORMS : Infinity),
    personalTokens: limit('personal-tokens', config.limitPersonalTokens, HOUR_MS),
  }
}

type LimitOptions = { prefix: string; amount: number; windowMs: number; redis: Redis | Cluster }

function createLimit({ prefix, amount, windowMs, redis }: LimitOptions): RateLimit {
  const limiter = createLimiter({ prefix, redis })
  return {
    async consume(key) {
      const { waitMs } = await limiter.take([{ key, amount, windowMs }])
      if (waitMs > 0)
        throw new AppError('limited', 'too_many_requests', 'Too many requests', {
          retryAfterSeconds: Math.ceil(waitMs / 1000),
        })
    },
    refund: (key) => limiter.putBack([{ key, amount, windowMs }]),
  }
}

const UNLIMITED: RateLimit = { consume: () => Promise.resolve(), refund: () => Promise.resolve() }

export type Limits = ReturnType<typeof createLimits>
