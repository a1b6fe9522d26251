import { boolean, integer } from '@signet/config'

const limit = (env: string, fallback: number, doc: string) =>
  integer({ env, fallback, max: 1_000_000, doc: `${doc} 0 means no limit.` })

/** Rate limits (docs/specification.md#rate-limits). */
export const limitSettings = {
  limitsEnabled: boolean({
    env: 'WEBHOOKS_RATE_LIMITS_ENABLED',
    fallback: true,
    doc: 'Enables all rate limits.',
  }),
  limitRegister: limit('WEBHOOKS_RATE_LIMIT_REGISTER', 20, 'Client registrations per IP and hour.'),
  limitAuthorize: limit(
    'WEBHOOKS_RATE_LIMIT_AUTHORIZE',
    100,
    'Authorization requests per IP and 15 minutes.',
  ),
  limitToken: limit('WEBHOOKS_RATE_LIMIT_TOKEN', 300, 'Token requests per IP and 15 minutes.'),
  limitRevoke: limit(
    'WEBHOOKS_RATE_LIMIT_REVOKE',
    300,
    'Revocations and introspections per IP and 15 minutes.',
  ),
  limitClientFailures: limit(
    'WEBHOOKS_RATE_LIMIT_CLIENT_FAILURES',
    10,
    'Failed client authentications per client, IP and minute.',
  ),
  limitLogin: limit(
    'WEBHOOKS_RATE_LIMIT_LOGIN',
    100,
    'Sign-ins that come back from the sign-in page per IP and 15 minutes.',
  ),
  limitV1: limit('WEBHOOKS_RATE_LIMIT_V1', 600, '/v1 requests per account and minute.'),
  limitV1Writes: limit('WEBHOOKS_RATE_LIMIT_V1_WRITES', 60, '/v1 writes per account and minute.'),
  limitTestEvents: limit('WEBHOOKS_RATE_LIMIT_TEST_EVENTS', 10, 'Test events per endpoint and minute.'),
  limitPersonalTokens: limit(
    'WEBHOOKS_RATE_LIMIT_PERSONAL_TOKENS',
    10,
    'Personal tokens created per account and hour.',
  ),
  limitBearerFailures: limit(
    'WEBHOOKS_RATE_LIMIT_BEARER_FAILURES',
    60,
    'Requests with an invalid Bearer token per IP and minute.',
  ),
}
