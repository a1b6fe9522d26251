/** Counts one request, or throws `limited` with the seconds to wait. */
export type GlobalLimit = { consume(): Promise<void> }
/** The same for each key; no key (see `clientKey`) means no limit. */
export type KeyedLimit = { consume(key: string | undefined): Promise<void> }

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
  /** Per 5 minutes, except anonymous (1 hour) and mfa (1 minute). */
  tokenRefresh: number
  verify: number
  otp: number
  anonymousUsers: number
  mfaChallengeAndVerify: number
  /** Undefined while nothing is counted (AUTH_MAILER_AUTOCONFIRM, AUTH_SMS_AUTOCONFIRM). */
  emailSent: SendQuota | undefined
  smsSent: SendQuota | undefined
}
