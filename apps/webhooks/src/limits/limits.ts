import { clientAddress, createRateLimit, type RateLimit, type RequestContext } from '@signet/http'
import type { Request } from 'express'
import type { Cluster, Redis } from 'ioredis'
import type { WebhooksConfig } from '../config/config.js'

/** A limit on requests by IP address, in the form a route takes it. */
export type IpLimit = (req: Request, context: RequestContext) => Promise<void>

const MINUTE = 60
const HOUR = 3600

/** Every rate limit of docs/specification.md#rate-limits. Counted in Redis, so that replicas share them. */
export function createLimits(config: WebhooksConfig, redis: Redis | Cluster) {
  const limit = (name: string, points: number, windowSeconds: number): RateLimit =>
    createRateLimit({ name, points: config.limitsEnabled ? points : 0, windowSeconds, redis })
  const address = (req: Request) => clientAddress(req, config.trustProxyHops)
  const perAddress = (name: string, points: number, windowSeconds: number): IpLimit => {
    const counter = limit(name, points, windowSeconds)
    return (req) => counter.consume(address(req))
  }
  return {
    address,
    register: perAddress('register', config.limitRegister, HOUR),
    authorize: perAddress('authorize', config.limitAuthorize, 15 * MINUTE),
    token: perAddress('token', config.limitToken, 15 * MINUTE),
    revoke: perAddress('revoke', config.limitRevoke, 15 * MINUTE),
    login: perAddress('login', config.limitLogin, 15 * MINUTE),
    bearerFailures: perAddress('bearer-failures', config.limitBearerFailures, MINUTE),
    clientFailures: limit('client-failures', config.limitClientFailures, MINUTE),
    loginFailures: limit('login-failures', config.limitLoginFailures, 15 * MINUTE),
    v1: limit('v1', config.limitV1, MINUTE),
    v1Writes: limit('v1-writes', config.limitV1Writes, MINUTE),
    testEvents: limit('test-events', config.limitTestEvents, MINUTE),
    personalTokens: limit('personal-tokens', config.limitPersonalTokens, HOUR),
  }
}

export type Limits = ReturnType<typeof createLimits>
