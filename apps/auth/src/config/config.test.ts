import { generateKeyPairSync } from 'node:crypto'
import { tmpdir } from 'node:os'
import { describe, expect, it } from '@jest/globals'
import { ConfigError, renderEnvExample } from '@signet/config'
import { createKeyRing, settings } from './config.js'
import { providers } from '../providers/definitions/index.js'
import { readConfig, unsupportedVariables } from './read-config.js'

const SECRET = 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz'
const required = {
  AUTH_SITE_URL: 'https://app.example.com/',
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://127.0.0.1/auth',
  AUTH_JWT_SECRET: SECRET,
  AUTH_SMTP_HOST: 'mail.example.com',
  AUTH_SMTP_PORT: '587',
  AUTH_SMTP_ADMIN_EMAIL: 'no-reply@example.com',
}

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
const namesOf = (env: Record<string, string>) => problemsOf(env).map((problem) => problem.split(' ')[0])

describe('the example file', () => {
  it('gives each default as it would be set', () => {
    const lines = renderEnvExample(settings).matchAll(/^# ([A-Z][A-Z0-9_]*)=(.+)$/gm)
    const given = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]))
    expect(given).toMatchObject({ AUTH_RATE_LIMIT_EMAIL_SENT: '30', AUTH_API_MAX_REQUEST_DURATION: '10s' })
    expect(readConfig({ ...required, ...given })).toEqual(readConfig(required))
  })
})

describe('the settings', () => {
  it('refuse an environment that does not exist, which would accept development secrets', () => {
    expect(namesOf({ ...required, NODE_ENV: 'prod' })).toEqual(['NODE_ENV'])
  })

  it('refuse to make everybody an administrator, and operators nowhere to sign in', () => {
    expect(
      namesOf({
        ...required,
        AUTH_JWT_ADMIN_ROLES: 'service_role,authenticated',
        AUTH_UI_OPERATOR_ENABLED: 'true',
        AUTH_UI_ENABLED: 'false',
      }),
    ).toEqual(['AUTH_JWT_ADMIN_ROLES', 'AUTH_UI_OPERATOR_ENABLED'])
  })

  it('have their documented defaults', () => {
    expect(readConfig(required)).toMatchObject({
      siteUrl: 'https://app.example.com',
      apiPort: 8081,
      apiMaxRequestDuration: 10_000,
      dbNamespace: '',
      dbMaxPoolSize: 0,
      logLevel: 'info',
      uriAllowList: [],
      disableSignup: false,
      emailEnabled: true,
      phoneEnabled: false,
      anonymousUsersEnabled: false,
      jwtExp: 3_600_000,
      jwtAud: 'authenticated',
      jwtDefaultGroupName: 'authenticated',
      jwtAdminRoles: ['service_role', 'supabase_admin'],
      passwordMinLength: 6,
      passwordRequiredCharacters: [],
      refreshTokenRotationEnabled: true,
      refreshTokenReuseInterval: 10_000,
      updatePasswordRequireReauthentication: false,
      captchaEnabled: false,
      captchaProvider: 'hcaptcha',
      captchaTimeout: 10_000,
      forwardedForEnabled: false,
      forwardedForHops: 1,
      rateLimitEmailSent: { amount: 30 },
      rateLimitTokenRefresh: 150,
      smtpMaxFrequency: 900_000,
      mailerMagicLinkMaxFrequency: 60_000,
      mailerAutoconfirm: false,
      mailerOtpExp: 86_400_000,
      mailerOtpLength: 6,
      mailerSecureEmailChangeEnabled: true,
      urlPathRecovery: '/verify',
      smsAutoconfirm: false,
      smsMaxFrequency: 60_000,
      smsOtpExp: 60_000,
      smsOtpLength: 6,
      mfaTotpEnrollEnabled: true,
      mfaPhoneEnrollEnabled: false,
      mfaMaxEnrolledFactors: 10,
      mfaChallengeExpiryDuration: 300_000,
      flowStateExpiryDuration: 300_000,
      tracingEnabled: false,
      metricsExporter: 'opentelemetry',
      prometheusPort: 9100,
      github_enabled: false,
    })
  })

  it('report every required variable at once', () => {
    expect(namesOf({})).toEqual([
      'AUTH_SITE_URL',
      'AUTH_API_EXTERNAL_URL',
      'AUTH_DB_DRIVER',
      'AUTH_DB_DATABASE_URL',
      'AUTH_JWT_SECRET',
      'AUTH_SMTP_HOST',
      'AUTH_SMTP_PORT',
      'AUTH_SMTP_ADMIN_EMAIL',
    ])
  })

  it('do without SMTP only while email is off, also under autoconfirm', () => {
    const { AUTH_SMTP_HOST: _h, AUTH_SMTP_PORT: _p, AUTH_SMTP_ADMIN_EMAIL: _a, ...rest } = required
    expect(namesOf({ ...rest, AUTH_MAILER_AUTOCONFIRM: 'true' })).toHaveLength(3)
    expect(problemsOf({ ...rest, AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })).toEqual([])
  })

  it.each([
    ['AUTH_DB_DRIVER', 'mysql'],
    ['AUTH_DB_DATABASE_URL', 'http://127.0.0.1/auth'],
    ['AUTH_DB_DATABASE_URL', '127.0.0.1:5432'],
    ['AUTH_LOG_FILE', tmpdir()],
    ['AUTH_MAILER_URLPATHS_RECOVERY', 'https://[/verify'],
    ['AUTH_RATE_LIMIT_REDIS_URL', '127.0.0.1:6379'],
    ['AUTH_SMTP_ADMIN_EMAIL', 'no-reply'],
    ['AUTH_DB_NAMESPACE', 'a-b'],
    ['AUTH_DB_NAMESPACE', '1a'],
    ['AUTH_DB_NAMESPACE', 'a'.repeat(32)],
    ['AUTH_DISABLE_SIGNUP', 'yes'],
    ['AUTH_JWT_EXP', '0'],
    ['AUTH_JWT_SECRET', 'short'],
    ['AUTH_JWT_KEYS', 'nonsense'],
    ['AUTH_JWT_VALID_METHODS', 'HS256,RS256,none'],
    ['AUTH_RATE_LIMIT_EMAIL_SENT', 'many'],
    ['AUTH_RATE_LIMIT_EMAIL_SENT', '1/0s'],
    ['AUTH_SECURITY_CAPTCHA_PROVIDER', 'riddle'],
    ['AUTH_SMS_PROVIDER', 'pigeon'],
    ['AUTH_SMS_TEST_OTP', '123'],
    ['AUTH_SMS_TEST_OTP_VALID_UNTIL', 'tomorrow'],
    ['AUTH_SESSIONS_TIMEBOX', '0'],
    ['AUTH_SESSIONS_INACTIVITY_TIMEOUT', '-1s'],
    ['AUTH_MFA_CHALLENGE_EXPIRY_DURATION', '299s'],
    ['AUTH_EXTERNAL_FLOW_STATE_EXPIRY_DURATION', '1m'],
    ['AUTH_PASSWORD_MIN_LENGTH', '73'],
    ['AUTH_PASSWORD_MIN_LENGTH', '3'],
    ['AUTH_MAILER_OTP_LENGTH', '4'],
    ['AUTH_MAILER_OTP_LENGTH', '11'],
    ['AUTH_SMS_OTP_LENGTH', '5'],
    ['AUTH_MFA_PHONE_OTP_LENGTH', '12'],
    [
      'AUTH_PASSWORD_REQUIRED_CHARACTERS',
      Array.from({ length: 19 }, (_, index) => String.fromCodePoint(0x1f511 + index)).join(':'),
    ],
    ['AUTH_METRICS_EXPORTER', 'statsd'],
    ['AUTH_TRACING_EXPORTER', 'jaeger'],
    ['PORT', '70000'],
    ['LOG_LEVEL', 'loud'],
  ])('refuse %s=%s, by name and without the value', (name, value) => {
    const problems = problemsOf({ ...required, [name]: value })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${name} `))
  })

  it('refuse combinations that contradict each other', () => {
    expect(namesOf({ ...required, AUTH_SECURITY_CAPTCHA_ENABLED: 'true' })).toEqual([
      'AUTH_SECURITY_CAPTCHA_SECRET',
      'AUTH_UI_CAPTCHA_SITE_KEY',
    ])
    expect(
      namesOf({
        ...required,
        AUTH_MAILER_AUTOCONFIRM: 'true',
        AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
      }),
    ).toEqual(['AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS'])
  })

  it('want all of a provider that is switched on, and name all that is missing at once', () => {
    const rest: Record<string, string> = { ...required }
    delete rest['AUTH_SITE_URL']
    const env = {
      ...rest,
      AUTH_EXTERNAL_SLACK_ENABLED: 'true',
      AUTH_EXTERNAL_SLACK_CLIENT_ID: 'id',
      AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
      AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'id',
      AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
      AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'https://auth.example.com/callback',
      AUTH_EXTERNAL_FIGMA_CLIENT_ID: 'of a provider that is off',
    }
    expect(namesOf(env)).toEqual([
      'AUTH_SITE_URL',
      'AUTH_EXTERNAL_KEYCLOAK_URL',
      'AUTH_EXTERNAL_SLACK_SECRET',
      'AUTH_EXTERNAL_SLACK_REDIRECT_URI',
    ])
  })

  it('take prefixed names before plain ones', () => {
    const config = readConfig({
      ...required,
      PORT: '1',
      AUTH_API_PORT: '2',
      LOG_LEVEL: 'debug',
      DB_NAMESPACE: 'ns',
    })
    expect(config).toMatchObject({ apiPort: 2, logLevel: 'debug', dbNamespace: 'ns' })
  })

  it('read durations, quotas, sets, test codes and lengths in their own syntax', () => {
    const config = readConfig({
      ...required,
      AUTH_SMTP_MAX_FREQUENCY: '1m30s',
      AUTH_RATE_LIMIT_EMAIL_SENT: '10/1m',
      AUTH_RATE_LIMIT_SMS_SENT: '0',
      AUTH_PASSWORD_REQUIRED_CHARACTERS: 'abc:\\:;::123',
      AUTH_SMS_TEST_OTP: '+4915112345678:123456, 15551234567=000000',
      AUTH_MAILER_OTP_LENGTH: '10',
      AUTH_SMS_OTP_LENGTH: '8',
    })
    expect(config).toMatchObject({
      smtpMaxFrequency: 90_000,
      rateLimitEmailSent: { amount: 10, everyMs: 60_000 },
      rateLimitSmsSent: { amount: 0 },
      passwordRequiredCharacters: ['abc', ':;', '123'],
      mailerOtpLength: 10,
      smsOtpLength: 8,
    })
    expect([...config.smsTestOtp]).toEqual([
      ['4915112345678', '123456'],
      ['15551234567', '000000'],
    ])
  })

  it.each(['1/1m/2', '1/1m/', '3/', '/1m', '5/0', '-1', '1.5'])('refuse the quota %j', (quota) => {
    const wrong = { ...required, AUTH_RATE_LIMIT_EMAIL_SENT: quota }
    expect(() => readConfig(wrong)).toThrow('AUTH_RATE_LIMIT_EMAIL_SENT must be a whole number')
  })

  it('name each variable once', () => {
    const names = Object.values(settings).flatMap(({ env }) => env)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('mark every secret', () => {
    const open = Object.values(settings)
      .filter(({ secret }) => !secret)
      .flatMap(({ env }) => env)
    const suspicious = open.filter((name) =>
      /SECRET|_PASS$|TOKEN$|API_KEY|ACCESS_KEY|DATABASE_URL|REDIS_URL|JWT_KEYS$/.test(name),
    )
    expect(suspicious).toEqual([])
  })

  it('make a key ring that signs with the marked key', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = JSON.stringify([
      { ...privateKey.export({ format: 'jwk' }), kid: 'k1', key_ops: ['sign', 'verify'] },
    ])
    expect(createKeyRing(readConfig({ ...required, AUTH_JWT_KEYS: keys })).signingKey.kid).toBe('k1')
    expect(createKeyRing(readConfig(required)).signingKey.alg).toBe('HS256')
  })

  it('notice variables that the specification does not support', () => {
    expect(
      unsupportedVariables({ OPERATOR_TOKEN: 'x', AUTH_MULTI_INSTANCE_MODE: 'true', API_ENDPOINT: '' }),
    ).toEqual(['AUTH_MULTI_INSTANCE_MODE', 'OPERATOR_TOKEN'])
  })

  it('have a nonce check to skip where the id_token grant compares nonces, and notice it elsewhere', () => {
    const variables = providers.map((name) => `AUTH_EXTERNAL_${name.toUpperCase()}_SKIP_NONCE_CHECK`)
    const names = Object.values(settings).flatMap(({ env }) => env)
    const supported = ['APPLE', 'AZURE', 'GOOGLE', 'KEYCLOAK', 'SNAPCHAT'].map(
      (name) => `AUTH_EXTERNAL_${name}_SKIP_NONCE_CHECK`,
    )
    expect(variables.filter((name) => names.includes(name))).toEqual(supported)
    const all = Object.fromEntries(variables.map((name) => [name, 'true']))
    expect(unsupportedVariables(all)).toEqual(variables.filter((name) => !supported.includes(name)))
  })
})
