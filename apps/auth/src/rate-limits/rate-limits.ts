import { createLimiter } from '@signet/rate-limits'
import type { Cluster, Redis } from 'ioredis'
import { authError } from '../errors/auth-error.js'
import type { Observer } from '../observers/observer.js'
import type { Client } from '../requests/request-meta.js'

/** A limit that counts for each client. */
export type KeyedLimit = { consume(client: Client, requestId: string): Promise<void> }

/** A limit that can give back requests that were refused because the server is busy. */
export type ReturningLimit = KeyedLimit & {
  /**
   * Works only as often as `consume` does, so that refused requests have a limit as well: they cost database statements, though no hash.
   */
  giveBack(client: Client): Promise<void>
}

/** A limit on failures that also holds for parallel attempts: each attempt counts as a failure until `putBack`. */
export type FailureLimit = {
  /** Returns 0 if one was left, otherwise the milliseconds until there is one. */
  take(client: Client): Promise<number>
  putBack(client: Client): Promise<void>
}

/** One limiter for each bucket of docs/specification.md#rate-limits. */
export type RateLimits = {
  token: ReturningLimit
  /** Sign-ins that begin at a provider. Most of them end at `/token`, so they get the same rate. */
  authorize: KeyedLimit
  verify: KeyedLimit
  /** A bucket for each endpoint, e.g. `otp('/signup')`. */
  otp(endpoint: OtpEndpoint): KeyedLimit
  anonymous: KeyedLimit
  failedSignIns: FailureLimit
  mfaEnroll: KeyedLimit
  mfaChallenge: KeyedLimit
  mfaVerify: KeyedLimit
  passkeySignIn: KeyedLimit
  passkeyRegistration: KeyedLimit
}

export type OtpEndpoint = '/signup' | '/recover' | '/resend' | '/magiclink' | '/otp' | '/user'

export type RateLimitRules = {
  /** Requests that a client may send at once. */
  burst: number
  /** Requests per 5 minutes, except anonymous (1 hour) and mfa (1 minute). 0 allows none. */
  tokenRefresh: number
  failedSignIns: number
  verify: number
  otp: number
  anonymousUsers: number
  mfaChallengeAndVerify: number
  passkey: number
  /** Multiplies the limits for a shared client (see `Client`). */
  sharedAddressFactor: number
}

type Deps = {
  observer: Pick<Observer, 'sharedLimitReached'>
  /** Shared counts (AUTH_RATE_LIMIT_REDIS_URL, see `connectLimitRedis`); without it each process counts for itself. */
  redis?: Redis | Cluster | undefined
  /** The keys in Redis begin with this (AUTH_RATE_LIMIT_REDIS_PREFIX). */
  prefix: string
  now?: () => Date
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export function createRateLimits(rules: RateLimitRules, deps: Deps): RateLimits {
  const byClient = (name: string, requests: number, windowMs: number) => {
    // Each name has its own limiter, so that a flood of one kind does not evict the counts of another.
    const limiter = createLimiter({ ...deps, prefix: `${deps.prefix}:limit:${name}` })
    const limitOf = ({ key, shared }: Client) => {
      const factor = shared ? rules.sharedAddressFactor : 1
      return {
        key: shared ? `shared:${key}` : key,
        amount: rules.burst * factor,
        everyMs: windowMs / (requests * factor),
      }
    }
    return {
      take: async (client: Client) => (await limiter.take([limitOf(client)])).waitMs,
      putBack: (client: Client) => limiter.putBack([limitOf(client)]),
    }
  }
  const keyed = (
    name: string,
    requests: number,
    windowMs: number,
    { take } = byClient(name, requests, windowMs),
  ): KeyedLimit => {
    return {
      async consume(client, requestId) {
        const waitMs = requests === 0 ? windowMs : await take(client)
        if (waitMs === 0) return
        if (client.shared) deps.observer.sharedLimitReached(requestId)
        throw refusal('over_request_rate_limit', 'Request rate limit reached', waitMs)
      },
    }
  }
  const returning = (name: string, requests: number, windowMs: number): ReturningLimit => {
    const served = byClient(name, requests, windowMs)
    const refused = byClient(`${name}-refused`, requests, windowMs)
    return {
      ...keyed(name, requests, windowMs, served),
      async giveBack(client) {
        if ((await refused.take(client)) === 0) await served.putBack(client)
      },
    }
  }
  const failedSignIns = byClient('failed-sign-ins', rules.failedSignIns, 5 * MINUTE_MS)
  const otp = Object.fromEntries(
    (['/signup', '/recover', '/resend', '/magiclink', '/otp', '/user'] as const).map((endpoint) => [
      endpoint,
      keyed(`otp${endpoint}`, rules.otp, 5 * MINUTE_MS),
    ]),
  ) as Record<OtpEndpoint, KeyedLimit>
  return {
    token: returning('token', rules.tokenRefresh, 5 * MINUTE_MS),
    authorize: keyed('authorize', rules.tokenRefresh, 5 * MINUTE_MS),
    verify: keyed('verify', rules.verify, 5 * MINUTE_MS),
    otp: (endpoint) => otp[endpoint],
    anonymous: keyed('anonymous', rules.anonymousUsers, HOUR_MS),
    failedSignIns,
    mfaEnroll: keyed('mfa-enroll', rules.mfaChallengeAndVerify, MINUTE_MS),
    mfaChallenge: keyed('mfa-challenge', rules.mfaChallengeAndVerify, MINUTE_MS),
    mfaVerify: keyed('mfa-verify', rules.mfaChallengeAndVerify, MINUTE_MS),
    passkeySignIn: keyed('passkey-sign-in', rules.passkey, 5 * MINUTE_MS),
    passkeyRegistration: keyed('passkey-registration', rules.passkey, 5 * MINUTE_MS),
  }
}

const refusal = (code: 'over_request_rate_limit', message: string, waitMs: number) =>
  authError('limited', code, message, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
