import { JwksClient, JwtError, KeySet, type KeySource } from '@signet/jwt'
import type { Logger } from '@signet/telemetry'
import type { WebhooksConfig } from '../config/config.js'

/** Allows HS256 only with the secret, and all other algorithms only with published or configured public keys. */
export function identityKeys(config: WebhooksConfig, log: Logger): KeySource {
  const { identityJwtSecret, identityJwksUrl, identityJwtPublicKeys: configured } = config
  const secret = identityJwtSecret && new KeySet([], { secret: identityJwtSecret })
  const jwksUrl = identityJwksUrl ?? (configured ? undefined : jwksUrlOf(config.identityUrl))
  const published =
    jwksUrl === undefined
      ? null
      : new JwksClient({
          url: jwksUrl,
          onRefreshFailed: (error) => log.warn('signing keys could not be fetched', { error }),
        })
  return {
    findKey(header) {
      const isConfigured = configured?.keys.some(({ kid }) => kid === header.kid) === true
      const source = header.alg === 'HS256' ? secret : isConfigured ? configured : published
      if (!source) throw new JwtError('algorithm')
      return source.findKey(header)
    },
  }
}

const jwksUrlOf = (identityUrl: string): string => `${identityUrl.replace(/\/+$/, '')}/.well-known/jwks.json`
