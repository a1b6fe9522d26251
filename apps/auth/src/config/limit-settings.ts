import { boolean, choice, integer, parsed, parseDuration, text } from '@signet/config'
import { parseRedisUrl } from '@signet/redis'
import { timer } from './durations.js'
import { captchaProviders } from '../captcha/captcha-verifier.js'
import type { SendQuota } from '../quotas/send-quotas.js'

type QuotaOptions = { env: string; fallback: SendQuota; fallbackDoc: string; doc: string }
type DerivedQuotaOptions = { env: string; optional: true; fallbackDoc: string; doc: string }

const QUOTA = { kind: '`n` or `n/duration`', parse: parseQuota }
const FORMS = '`n` an hour, or `n/d`, a bucket of n that gains one each d; 0 allows none.'

const quota = (env: string, amount: number, what: string) =>
  parsed<SendQuota, QuotaOptions>({
    ...QUOTA,
    env,
    fallback: { amount },
    fallbackDoc: `\`${amount}\``,
    doc: `${what}: ${FORMS}`,
  })

const quotaPerClient = (total: string, what: string) =>
  parsed<SendQuota, DerivedQuotaOptions>({
    ...QUOTA,
    env: `${total}_PER_CLIENT`,
    optional: true,
    fallbackDoc: `half of \`${total}\``,
    doc: `${what}: ${FORMS} Private addresses without a distinguishing header are not counted.`,
  })

/**
 * Limits on requests and messages, and how callers are identified (docs/specification.md#captcha and
 * docs/specification.md#rate-limits).
 */
export const limitSettings = {
  captchaEnabled: boolean({
    env: 'AUTH_SECURITY_CAPTCHA_ENABLED',
    fallback: false,
    doc: 'Require a CAPTCHA wherever accounts are created or emails are sent, for passwords (`grant_type=password`) and for the options of a sign-in with a passkey.',
  }),
  captchaProvider: choice({
    env: 'AUTH_SECURITY_CAPTCHA_PROVIDER',
    choices: captchaProviders,
    fallback: 'hcaptcha',
    doc: 'CAPTCHA service.',
  }),
  captchaSecret: text({
    env: 'AUTH_SECURITY_CAPTCHA_SECRET',
    optional: true,
    secret: true,
    doc: 'Key of the CAPTCHA service; required while CAPTCHA is enabled.',
  }),
  captchaTimeout: timer({
    env: 'AUTH_SECURITY_CAPTCHA_TIMEOUT',
    fallback: 10_000,
    minMs: 1,
    doc: 'Time for one request to the CAPTCHA service.',
  }),
  forwardedForEnabled: boolean({
    env: 'AUTH_SECURITY_FORWARDED_FOR_ENABLED',
    fallback: false,
    doc: 'Take the client address from a header of the platform. Only behind a proxy that sets it itself.',
  }),
  forwardedForHeader: text({
    env: 'AUTH_SECURITY_FORWARDED_FOR_HEADER',
    fallback: 'X-Forwarded-For',
    doc: 'Header with the client address, if AUTH_SECURITY_FORWARDED_FOR_ENABLED is on.',
  }),
  forwardedForHops: integer({
    env: 'AUTH_SECURITY_FORWARDED_FOR_HOPS',
    fallback: 1,
    min: 0,
    max: 10,
    doc: 'Number of proxies in front of this server that append the address they saw to `AUTH_SECURITY_FORWARDED_FOR_HEADER`. With 1, its last value counts. With 0, its first value counts; use that only if the platform replaces the header.',
  }),
  rateLimitHeader: text({
    env: 'AUTH_RATE_LIMIT_HEADER',
    optional: true,
    doc: 'Header whose first value identifies the client for rate limits.',
  }),
  rateLimitSharedAddressFactor: integer({
    env: 'AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR',
    fallback: 10,
    min: 1,
    max: 1_000_000,
    doc: 'Factor that multiplies the limits of a private address without a client header, because it may be a proxy in front of all clients.',
  }),
  rateLimitRedisUrl: parsed<string, { env: string; optional: true; secret: true; doc: string }>({
    env: 'AUTH_RATE_LIMIT_REDIS_URL',
    optional: true,
    secret: true,
    kind: 'text',
    parse(raw) {
      parseRedisUrl(raw)
      return raw
    },
    doc: 'Redis in which replicas share their counts; without it each replica counts on its own.',
  }),
  rateLimitRedisPrefix: text({
    env: 'AUTH_RATE_LIMIT_REDIS_PREFIX',
    fallback: 'auth',
    pattern: /^[\w{}-]{1,64}$/,
    expected: 'letters, digits, -, _ and braces',
    doc: 'Prefix of the keys in that Redis: deployments that share it need different ones, or they share their counts.',
  }),
  rateLimitBurst: integer({
    env: 'AUTH_RATE_LIMIT_BURST',
    fallback: 30,
    min: 1,
    max: 1_000_000,
    doc: 'How many requests, or wrong passwords, of one client each limit from here to `AUTH_RATE_LIMIT_PASSKEY` lets through at once. After that, the limits set the rate, so a client that was idle can always send this many. Messages have quotas of their own.',
  }),
  rateLimitTokenRefresh: integer({
    env: 'AUTH_RATE_LIMIT_TOKEN_REFRESH',
    fallback: 150,
    doc: '`/token` requests of one client in 5 minutes, and separately the sign-ins that it begins at providers.',
  }),
  rateLimitFailedSignIns: integer({
    env: 'AUTH_RATE_LIMIT_FAILED_SIGN_INS',
    fallback: 30,
    min: 1,
    doc: 'Wrong passwords of one client in 5 minutes, for accounts that do not know its network.',
  }),
  rateLimitVerify: integer({
    env: 'AUTH_RATE_LIMIT_VERIFY',
    fallback: 30,
    doc: '`/verify` requests of one client in 5 minutes.',
  }),
  rateLimitOtp: integer({
    env: 'AUTH_RATE_LIMIT_OTP',
    fallback: 30,
    doc: 'Requests of one client in 5 minutes, counted separately for each of the endpoints that may send a message: `/signup`, `/otp`, `/magiclink`, `/recover`, `/resend` and `PUT /user`.',
  }),
  rateLimitAnonymousUsers: integer({
    env: 'AUTH_RATE_LIMIT_ANONYMOUS_USERS',
    fallback: 30,
    doc: 'Anonymous sign-ups of one client in an hour.',
  }),
  mfaRateLimitChallengeAndVerify: integer({
    env: 'AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY',
    fallback: 15,
    doc: 'Factor challenges, and separately enrollments and verifications, of one client in a minute.',
  }),
  rateLimitPasskey: integer({
    env: 'AUTH_RATE_LIMIT_PASSKEY',
    fallback: 30,
    doc: 'Sign-ins of one client with a passkey in 5 minutes, and separately registrations.',
  }),
  rateLimitEmailSent: quota(
    'AUTH_RATE_LIMIT_EMAIL_SENT',
    30,
    'Emails requested from the whole server, whether or not an address has an account',
  ),
  rateLimitEmailSentPerRecipient: quota(
    'AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT',
    10,
    'Emails requested for one address, counted separately for each purpose (sign-up, sign-in, recovery, change to and from the address, reauthentication, invitation; labels such as +news in ann+news@ are ignored), and half of them by one client network; of the other half the widest network around a client (IPv4 /16, IPv6 /32) gets half, each narrower one half as much, and every one at least one',
  ),
  rateLimitEmailSentPerClient: quotaPerClient(
    'AUTH_RATE_LIMIT_EMAIL_SENT',
    'Emails requested by one client network, except invitations',
  ),
  rateLimitEmailSentReserve: integer({
    env: 'AUTH_RATE_LIMIT_EMAIL_SENT_RESERVE',
    fallback: 20,
    max: 50,
    doc: 'Percentage of `AUTH_RATE_LIMIT_EMAIL_SENT` reserved for password recovery, and the same again for address confirmations, so that neither can exhaust the other.',
  }),
  rateLimitEmailSentReserveShare: integer({
    env: 'AUTH_RATE_LIMIT_EMAIL_SENT_RESERVE_SHARE',
    fallback: 10,
    min: 1,
    max: 100,
    doc: 'Percentage of each reserve that the widest network around a client gets (IPv4 /16, IPv6 /32). Each narrower network gets half as much, and every one at least one email.',
  }),
  rateLimitSmsSent: quota('AUTH_RATE_LIMIT_SMS_SENT', 30, 'SMS requested from the whole server'),
  rateLimitSmsSentPerRecipient: quota(
    'AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT',
    10,
    'SMS requested for one number, counted separately for each purpose (sign-up, sign-in, change of number, reauthentication, second factor), and half of them by one client network; of the other half the widest network around a client (IPv4 /16, IPv6 /32) gets half, each narrower one half as much, and every one at least one',
  ),
  rateLimitSmsSentPerClient: quotaPerClient(
    'AUTH_RATE_LIMIT_SMS_SENT',
    'SMS requested by one client network',
  ),
}

function parseQuota(raw: string): SendQuota {
  const [amount = '', every, ...others] = raw.split('/').map((part) => part.trim())
  const everyMs = every === undefined ? undefined : (parseDuration(every) ?? NaN)
  if (!/^\d{1,9}$/.test(amount) || (everyMs !== undefined && !(everyMs > 0)) || others.length > 0)
    throw new Error('must be a whole number, or one with a duration such as 10/1m')
  return { amount: Number(amount), everyMs }
}
