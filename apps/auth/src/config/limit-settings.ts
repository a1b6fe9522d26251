import { boolean, choice, duration, integer, parsed, parseDuration, text } from '@signet/config'
import { type SendQuota } from '../rate-limits/rate-limits.js'

type QuotaOptions = { env: string; fallback: SendQuota; fallbackDoc: string; doc: string }

const quota = (env: string, what: string) =>
  parsed<SendQuota, QuotaOptions>({
    env,
    kind: '`n` or `n/duration`',
    fallback: { amount: 30 },
    fallbackDoc: '`30`',
    doc: `${what} of the whole server: \`n\` an hour, or \`n/d\`, a bucket of n that gains one each d; 0 for none.`,
    parse: parseQuota,
  })

/** Limits on requests and messages, and who is asking (contract 9.2 and 12.1). */
export const limitSettings = {
  captchaEnabled: boolean({
    env: 'AUTH_SECURITY_CAPTCHA_ENABLED',
    fallback: false,
    doc: 'Ask for a CAPTCHA where accounts are made and mails are sent.',
  }),
  captchaProvider: choice({
    env: 'AUTH_SECURITY_CAPTCHA_PROVIDER',
    choices: ['hcaptcha', 'turnstile'],
    fallback: 'hcaptcha',
    doc: 'CAPTCHA service.',
  }),
  captchaSecret: text({
    env: 'AUTH_SECURITY_CAPTCHA_SECRET',
    optional: true,
    secret: true,
    doc: 'Key of the CAPTCHA service; required while CAPTCHA is enabled.',
  }),
  captchaTimeout: duration({
    env: 'AUTH_SECURITY_CAPTCHA_TIMEOUT',
    fallback: 10_000,
    minMs: 1,
    doc: 'Time for one question to the CAPTCHA service.',
  }),
  forwardedForEnabled: boolean({
    env: 'AUTH_SECURITY_FORWARDED_FOR_ENABLED',
    fallback: false,
    doc: 'Take the client address from a header of the platform. Only behind a proxy that sets it itself.',
  }),
  forwardedForHeader: text({
    env: 'AUTH_SECURITY_FORWARDED_FOR_HEADER',
    fallback: 'X-Forwarded-For',
    doc: 'That header; its first value counts.',
  }),
  rateLimitHeader: text({
    env: 'AUTH_RATE_LIMIT_HEADER',
    optional: true,
    doc: 'Header whose first value is the key of rate limits by client.',
  }),
  rateLimitRedisUrl: text({
    env: 'AUTH_RATE_LIMIT_REDIS_URL',
    optional: true,
    secret: true,
    pattern: /^rediss?:\/\/\S+$/i,
    expected: 'a URL such as redis://host:6379',
    doc: 'Redis that replicas share their counts in; without it each counts for itself.',
  }),
  rateLimitTokenRefresh: integer({
    env: 'AUTH_RATE_LIMIT_TOKEN_REFRESH',
    fallback: 150,
    doc: '`/token` requests of one client in 5 minutes.',
  }),
  rateLimitVerify: integer({
    env: 'AUTH_RATE_LIMIT_VERIFY',
    fallback: 30,
    doc: '`/verify` requests of one client in 5 minutes.',
  }),
  rateLimitOtp: integer({
    env: 'AUTH_RATE_LIMIT_OTP',
    fallback: 30,
    doc: 'Requests of one client in 5 minutes for each endpoint that may send a message.',
  }),
  rateLimitAnonymousUsers: integer({
    env: 'AUTH_RATE_LIMIT_ANONYMOUS_USERS',
    fallback: 30,
    doc: 'Anonymous sign-ups of one client in an hour.',
  }),
  mfaRateLimitChallengeAndVerify: integer({
    env: 'AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY',
    fallback: 15,
    doc: 'Factor challenges, and separately verifications, of one client in a minute.',
  }),
  rateLimitEmailSent: quota('AUTH_RATE_LIMIT_EMAIL_SENT', 'Mails'),
  rateLimitSmsSent: quota('AUTH_RATE_LIMIT_SMS_SENT', 'SMS'),
}

function parseQuota(raw: string): SendQuota {
  const [amount = '', every] = raw.split('/', 2).map((part) => part.trim())
  const everyMs = every === undefined ? undefined : (parseDuration(every) ?? NaN)
  if (!/^\d{1,9}$/.test(amount) || (everyMs !== undefined && !(everyMs > 0)))
    throw new Error('must be a whole number, or one with a duration such as 10/1m')
  return { amount: Number(amount), everyMs }
}
