import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '@signet/config'
import { settings } from '../src/config/config.js'
import { readConfig } from '../src/config/read-config.js'
import { anEmail, mailTo, post } from './support/api.js'
import { JWT_SECRET, SITE, startServer } from './support/server.js'

type Range = readonly [least: number, most: number]

const ANY_NUMBER = Number.MAX_SAFE_INTEGER
const HOUR = 3600
const FIFTY_YEARS = 50 * 365 * 24 * HOUR

/** Durations in seconds. */
const RANGES: Readonly<Record<string, Range>> = {
  AUTH_API_PORT: [0, 65_535],
  AUTH_API_MAX_REQUEST_DURATION: [0.001, HOUR],
  AUTH_API_DRAIN_DURATION: [0, 300],
  AUTH_DB_MAX_POOL_SIZE: [0, ANY_NUMBER],
  AUTH_OUTBOX_POLL_INTERVAL: [0.01, HOUR],
  AUTH_API_ACCOUNT_REQUEST_EXP: [1, FIFTY_YEARS],
  AUTH_OUTBOX_CONCURRENCY: [1, 1000],
  AUTH_OUTBOX_ATTEMPT_TIMEOUT: [0.1, HOUR],
  AUTH_AUDIT_LOG_RETENTION: [1, FIFTY_YEARS],
  AUTH_UNCONFIRMED_USER_RETENTION: [1, FIFTY_YEARS],
  AUTH_OTEL_EXPORTER_PROMETHEUS_PORT: [0, 65_535],
  AUTH_OTEL_EXPORTER_OTLP_TIMEOUT: [1, 600_000],
  AUTH_OTEL_BSP_SCHEDULE_DELAY: [1, 600_000],
  AUTH_OTEL_METRIC_EXPORT_INTERVAL: [100, 3_600_000],
  AUTH_JWT_EXP: [1, FIFTY_YEARS],
  AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: [0, FIFTY_YEARS],
  AUTH_SESSIONS_TIMEBOX: [0.001, FIFTY_YEARS],
  AUTH_SESSIONS_INACTIVITY_TIMEOUT: [0.001, FIFTY_YEARS],
  AUTH_SESSIONS_ALLOW_LOW_AAL: [0.001, FIFTY_YEARS],
  AUTH_SESSIONS_ENDED_RETENTION: [0.001, FIFTY_YEARS],
  AUTH_PASSWORD_MIN_LENGTH: [6, 72],
  AUTH_SECURITY_REAUTHENTICATION_GRACE: [0, FIFTY_YEARS],
  AUTH_ACCOUNT_DELETION_GRACE: [0, FIFTY_YEARS],
  AUTH_MFA_PHONE_OTP_LENGTH: [6, 10],
  AUTH_MFA_PHONE_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_MFA_MAX_ENROLLED_FACTORS: [0, ANY_NUMBER],
  AUTH_MFA_MAX_VERIFIED_FACTORS: [0, ANY_NUMBER],
  AUTH_MFA_CHALLENGE_EXPIRY_DURATION: [300, FIFTY_YEARS],
  AUTH_JWT_JWKS_MAX_AGE: [0, FIFTY_YEARS],
  AUTH_JWT_KEY_ACTIVATION_DELAY: [0, FIFTY_YEARS],
  AUTH_JWT_KEYS_REFRESH_INTERVAL: [0, 60],
  AUTH_SMTP_PORT: [1, 65_535],
  AUTH_SMTP_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_MAILER_REAUTHENTICATION_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_MAILER_OTP_EXP: [0.001, FIFTY_YEARS],
  AUTH_MAILER_OTP_LENGTH: [6, 10],
  AUTH_MAILER_NOTIFICATIONS_EXP: [0.001, FIFTY_YEARS],
  AUTH_SMS_MAX_FREQUENCY: [0, FIFTY_YEARS],
  AUTH_SMS_OTP_EXP: [0.001, FIFTY_YEARS],
  AUTH_SMS_OTP_LENGTH: [6, 10],
  AUTH_SECURITY_CAPTCHA_TIMEOUT: [0.001, HOUR],
  AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: [1, 1_000_000],
  AUTH_RATE_LIMIT_BURST: [1, 1_000_000],
  AUTH_RATE_LIMIT_TOKEN_REFRESH: [0, ANY_NUMBER],
  AUTH_RATE_LIMIT_FAILED_SIGN_INS: [1, ANY_NUMBER],
  AUTH_SECURITY_SIGN_IN_ATTEMPTS: [1, 1_000_000],
  AUTH_SECURITY_SIGN_IN_FIRST_DELAY: [0.1, HOUR],
  AUTH_SECURITY_SIGN_IN_MAX_DELAY: [0, HOUR],
  AUTH_SECURITY_SIGN_IN_FAILURE_EXP: [60, 24 * HOUR],
  AUTH_SECURITY_KNOWN_NETWORKS: [1, 100],
  AUTH_SECURITY_KNOWN_NETWORK_RETENTION: [0, FIFTY_YEARS],
  AUTH_SECURITY_CODE_MAX_ATTEMPTS: [1, 100],
  AUTH_SECURITY_CODE_ATTEMPT_WINDOW: [60, FIFTY_YEARS],
  AUTH_SECURITY_CODE_REQUESTER_ATTEMPTS: [0, 100],
  AUTH_SECURITY_CODE_REQUESTERS: [0, 100],
  AUTH_SECURITY_PENDING_SIGN_UPS: [1, 100],
  AUTH_SECURITY_PASSWORD_QUEUE: [2, 10_000],
  AUTH_SECURITY_FORWARDED_FOR_HOPS: [0, 10],
  AUTH_UI_SESSION_DURATION: [60, FIFTY_YEARS],
  AUTH_RATE_LIMIT_VERIFY: [0, ANY_NUMBER],
  AUTH_RATE_LIMIT_OTP: [0, ANY_NUMBER],
  AUTH_RATE_LIMIT_ANONYMOUS_USERS: [0, ANY_NUMBER],
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: [0, ANY_NUMBER],
  AUTH_RATE_LIMIT_PASSKEY: [0, ANY_NUMBER],
  AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: [1, 100],
  AUTH_WEBAUTHN_CHALLENGE_EXPIRY_DURATION: [10, HOUR],
  AUTH_RATE_LIMIT_EMAIL_SENT_RESERVE: [0, 50],
  AUTH_RATE_LIMIT_EMAIL_SENT_RESERVE_SHARE: [1, 100],
  AUTH_EXTERNAL_FLOW_STATE_EXPIRY_DURATION: [300, FIFTY_YEARS],
}

/**
 * Settings that the test leaves alone: the ports of its servers, and those whose lowest value rightly stops requests, messages or links.
 */
const FIXED: ReadonlySet<string> = new Set([
  'AUTH_API_PORT',
  'AUTH_SMTP_PORT',
  'AUTH_API_MAX_REQUEST_DURATION',
  'AUTH_OUTBOX_ATTEMPT_TIMEOUT',
  'AUTH_MAILER_OTP_EXP',
  'AUTH_SESSIONS_TIMEBOX',
  'AUTH_SESSIONS_INACTIVITY_TIMEOUT',
  'AUTH_SESSIONS_ALLOW_LOW_AAL',
  'AUTH_RATE_LIMIT_BURST',
  'AUTH_RATE_LIMIT_TOKEN_REFRESH',
  'AUTH_RATE_LIMIT_VERIFY',
  'AUTH_RATE_LIMIT_OTP',
])

const REQUIRED = {
  AUTH_SITE_URL: SITE,
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://127.0.0.1/auth',
  AUTH_JWT_SECRET: JWT_SECRET,
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
}

const numeric = Object.values(settings)
  .filter(({ kind }) => kind === 'integer' || kind === 'duration')
  .map(({ env, kind, parse }) => ({ name: env[0] ?? '', kind, parse }))
type Numeric = (typeof numeric)[number]

const accepts = ({ parse }: Numeric, value: string): boolean => {
  try {
    parse(value)
    return true
  } catch {
    return false
  }
}

/** A value as operators write it. `below` and `above` are the nearest values outside the range. */
const write = ({ kind }: Numeric, value: number) =>
  kind === 'integer' ? String(value) : `${Math.round(value * 1000)}ms`
const below = (setting: Numeric, [least]: Range) =>
  write(setting, setting.kind === 'integer' ? least - 1 : least - 0.001)
const above = (setting: Numeric, [, most]: Range) =>
  write(setting, setting.kind === 'integer' ? most + 1 : most + 0.001)

describe('the range of each number and duration', () => {
  it('is known here', () => {
    expect(Object.keys(RANGES).sort()).toEqual(numeric.map(({ name }) => name).sort())
  })

  it.each(numeric)('$name: both ends are accepted, and nothing beyond them', (setting) => {
    const range = RANGES[setting.name] ?? [NaN, NaN]
    const [least, most] = range
    const values = [below(setting, range), write(setting, least), write(setting, most), above(setting, range)]
    expect(values.map((value) => accepts(setting, value))).toEqual([false, true, true, false])
  })

  it.each([
    ['below', below],
    ['above', above],
  ])('is reported for all settings %s it at once', (_, beyond) => {
    const env = Object.fromEntries(
      numeric.map((setting) => [setting.name, beyond(setting, RANGES[setting.name] ?? [NaN, NaN])]),
    )
    let problems: readonly string[] = []
    try {
      readConfig({ ...REQUIRED, ...env })
    } catch (error) {
      problems = error instanceof ConfigError ? error.problems : [String(error)]
    }
    expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual(
      numeric.map(({ name }) => name).sort(),
    )
  })
})

describe('a server with every number and duration', () => {
  it.each([
    ['lowest', 0],
    ['highest', 1],
  ] as const)('at its %s value signs people up, in and on', async (_, end) => {
    const extremes = numeric
      .filter(({ name }) => !FIXED.has(name))
      .map((setting) => [setting.name, write(setting, (RANGES[setting.name] ?? [NaN, NaN])[end])])
    const server = await startServer({
      ...(Object.fromEntries(extremes) as Record<string, string>),
      // These two must not contradict other settings.
      AUTH_JWT_JWKS_MAX_AGE: '0',
      AUTH_SESSIONS_ENDED_RETENTION: String(FIFTY_YEARS),
    })
    try {
      const [email, password] = [anEmail(), 'p'.repeat(72)]
      expect((await post(server, '/signup', { email, password })).status).toBe(200)
      const { token } = await mailTo(server, email)
      expect((await post(server, '/verify', { type: 'signup', token })).status).toBe(200)
      const signedIn = await post(server, '/token?grant_type=password', { email, password })
      expect(signedIn.status).toBe(200)
      const { refresh_token } = signedIn.body
      expect((await post(server, '/token?grant_type=refresh_token', { refresh_token })).status).toBe(200)
      await server.context.cleanup.run()
    } finally {
      await server.close()
    }
  })
})
