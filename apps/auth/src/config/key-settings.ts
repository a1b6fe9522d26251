import { choice, type ConfigOf } from '@signet/config'
import { span, timer } from './durations.js'

/** How access tokens are signed when AUTH_JWT_KEYS gives no keys. */
export const keySettings = {
  jwtSigningAlgorithm: choice({
    env: 'AUTH_JWT_SIGNING_ALGORITHM',
    choices: ['RS256', 'ES256', 'EdDSA', 'HS256'],
    fallback: 'RS256',
    doc: 'Algorithm of the keys this server makes itself; `HS256` signs with AUTH_JWT_SECRET. Without effect when AUTH_JWT_KEYS is set.',
  }),
  jwtJwksMaxAge: span({
    env: 'AUTH_JWT_JWKS_MAX_AGE',
    fallback: 600_000,
    doc: 'How long others may cache `/.well-known/jwks.json` (its `Cache-Control: max-age`).',
  }),
  jwtKeyActivationDelay: span({
    env: 'AUTH_JWT_KEY_ACTIVATION_DELAY',
    fallback: 720_000,
    doc: 'Time between publishing a new key and signing with it, so that every copy of the JWK Set has it by then.',
  }),
  jwtKeysRefreshInterval: timer({
    env: 'AUTH_JWT_KEYS_REFRESH_INTERVAL',
    fallback: 5_000,
    maxMs: 60_000,
    doc: 'How often a server checks for added or retired keys.',
  }),
}

/** How many refresh intervals the activation delay must cover, in addition to the lifetime of a copy of the JWK Set. */
const INTERVALS_IN_DELAY = 8

export function keyTimingProblems(config: ConfigOf<typeof keySettings>): string[] {
  const leastMs = config.jwtJwksMaxAge + INTERVALS_IN_DELAY * config.jwtKeysRefreshInterval
  if (config.jwtKeyActivationDelay >= leastMs) return []
  return [
    `AUTH_JWT_KEY_ACTIVATION_DELAY must be at least ${leastMs / 1000}s: AUTH_JWT_JWKS_MAX_AGE and ${INTERVALS_IN_DELAY} times AUTH_JWT_KEYS_REFRESH_INTERVAL`,
  ]
}
