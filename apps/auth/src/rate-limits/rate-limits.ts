import { createRateLimit } from '@signet/http'
import { type Logger } from '@signet/telemetry'
import { type Redis } from 'ioredis'
import { authError } from '../errors/auth-error.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { memoryBucket, redisBucket, type BucketShape, type TakeToken } from './token-bucket.js'

export type GlobalLimit = {
  /** Counts one, or throws `limited` with the seconds to wait. */
  consume(meta: RequestMeta): Promise<void>
  /** Throws like `consume`, and counts nothing. */
  check(meta: RequestMeta): Promise<void>
}
/** Counts for each key; no key (see `clientKey`) means no limit. */
export type KeyedLimit = { consume(key: string | undefined, requestId: string): Promise<void> }

/** One limiter for each bucket of contract 12.1. */
export type RateLimits = {
  token: KeyedLimit
  verify: KeyedLimit
  /** A bucket for each endpoint, e.g. `otp('/signup')`. */
  otp(endpoint: OtpEndpoint): KeyedLimit
  anonymous: KeyedLimit
  mfaChallenge: KeyedLimit
  mfaVerify: KeyedLimit
  mail: GlobalLimit
  sms: GlobalLimit
}

export type OtpEndpoint = '/signup' | '/recover' | '/resend' | '/magiclink' | '/otp' | '/user'

/** `n` per hour in a fixed window, or (`n/d`) a bucket of n that gains one each d. */
export type SendQuota = { amount: number; everyMs?: number | undefined }

export type RateLimitConfig = {
  /** Requests per 5 minutes, except anonymous (1 hour) and mfa (1 minute). 0 allows none. */
  tokenRefresh: number
  verify: number
  otp: number
  anonymousUsers: number
  mfaChallengeAndVerify: number
  /** Undefined while nothing is counted (AUTH_MAILER_AUTOCONFIRM, AUTH_SMS_AUTOCONFIRM). */
  emailSent: SendQuota | undefined
  smsSent: SendQuota | undefined
}

type Deps = {
  log: Logger
  /** Shared counts (AUTH_RATE_LIMIT_REDIS_URL, see `connectLimitRedis`); without it each process counts for itself. */
  redis?: Redis | undefined
  now?: () => Date
  /** Told about each mail that the quota refuses, for the counters of 12.5. */
  onMailRefused?: (meta: RequestMeta) => void
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const BURST = 30

export function createRateLimits(config: RateLimitConfig, deps: Deps): RateLimits {
  const warnOnce = once((requestId: string) =>
    deps.log.warn('requests are not limited by client: no header tells clients apart', {
      request_id: requestId,
    }),
  )
  const keyed = (name: string, requests: number, windowMs: number): KeyedLimit => {
    const take = takeFrom(name, { capacity: BURST, everyMs: windowMs / requests }, deps)
    return {
      async consume(key, requestId) {
        if (key === undefined) return warnOnce(requestId)
        const waitMs = requests === 0 ? windowMs : await take(key)
        if (waitMs > 0) throw refusal('over_request_rate_limit', 'Request rate limit reached', waitMs)
      },
    }
  }
  const otp = Object.fromEntries(
    (['/signup', '/recover', '/resend', '/magiclink', '/otp', '/user'] as const).map((endpoint) => [
      endpoint,
      keyed(`otp${endpoint}`, config.otp, 5 * MINUTE_MS),
    ]),
  ) as Record<OtpEndpoint, KeyedLimit>
  return {
    token: keyed('token', config.tokenRefresh, 5 * MINUTE_MS),
    verify: keyed('verify', config.verify, 5 * MINUTE_MS),
    otp: (endpoint) => otp[endpoint],
    anonymous: keyed('anonymous', config.anonymousUsers, HOUR_MS),
    mfaChallenge: keyed('mfa-challenge', config.mfaChallengeAndVerify, MINUTE_MS),
    mfaVerify: keyed('mfa-verify', config.mfaChallengeAndVerify, MINUTE_MS),
    mail: telling(quota('mail', config.emailSent, 'over_email_send_rate_limit', deps), deps.onMailRefused),
    sms: quota('sms', config.smsSent, 'over_sms_send_rate_limit', deps),
  }
}

type QuotaCode = 'over_email_send_rate_limit' | 'over_sms_send_rate_limit'

/** What the whole server may send, whoever asked for it. */
function quota(name: string, sent: SendQuota | undefined, code: QuotaCode, deps: Deps): GlobalLimit {
  const message = name === 'mail' ? 'Email rate limit exceeded' : 'SMS rate limit exceeded'
  const always = (verdict: () => Promise<void>) => ({ consume: verdict, check: verdict })
  if (sent === undefined) return always(() => Promise.resolve())
  const { amount, everyMs } = sent
  if (amount === 0) return always(() => Promise.reject(refusal(code, message, everyMs ?? HOUR_MS)))
  if (everyMs === undefined) {
    const windowSeconds = HOUR_MS / 1000
    const limit = createRateLimit({ name, points: amount, windowSeconds, redis: deps.redis, code, message })
    return { consume: () => limit.consume('all'), check: () => limit.check('all') }
  }
  const take = takeFrom(name, { capacity: amount, everyMs }, deps)
  const ask = async (how?: 'look') => {
    const waitMs = await take('all', how)
    if (waitMs > 0) throw refusal(code, message, waitMs)
  }
  return { consume: () => ask(), check: () => ask('look') }
}

function telling(limit: GlobalLimit, onRefused: Deps['onMailRefused']): GlobalLimit {
  const tellOf = (meta: RequestMeta) => (error: unknown) => {
    onRefused?.(meta)
    throw error
  }
  return {
    consume: (meta) => limit.consume(meta).catch(tellOf(meta)),
    check: (meta) => limit.check(meta).catch(tellOf(meta)),
  }
}

/** From Redis, and from this process's memory while Redis does not answer: worse limits, but no outage. */
function takeFrom(name: string, shape: BucketShape, { redis, now = () => new Date() }: Deps): TakeToken {
  const memory = memoryBucket(shape, now)
  if (!redis) return memory
  const shared = redisBucket(redis, `auth-limit:${name}`, shape)
  return (key, how) => shared(key, how).catch(() => memory(key, how))
}

const refusal = (code: QuotaCode | 'over_request_rate_limit', message: string, waitMs: number) =>
  authError('limited', code, message, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })

function once<T>(work: (value: T) => void): (value: T) => void {
  let done = false
  return (value) => {
    if (!done) work(value)
    done = true
  }
}
