import type { KeyObject } from 'node:crypto'
import { JwtError } from './jwt-error.js'

/** The JWS algorithms Signet signs and verifies with (EdDSA with Ed25519 only); `none` has no place in the type. */
export const JWT_ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]
export type AsymmetricAlgorithm = Exclude<JwtAlgorithm, 'HS256'>

/** The header fields that choose a key. Everything else in a header (`jku`, `jwk`, `x5u`, …) is never looked at. */
export type JwtHeader = { readonly alg: string; readonly kid?: string | undefined }

/** A key bound to its one algorithm. For HS256 both KeyObjects are the secret; without `signKey` it only verifies. */
export type JwtKey = JwtHeader & {
  readonly alg: JwtAlgorithm
  readonly verifyKey: KeyObject
  readonly signKey?: KeyObject
}

/** A key that a token can name. */
export type NamedKey = JwtKey & { readonly kid: string }

/** Where verification keys come from: a KeyRing, a PublicKeySet or a JwksClient. */
export interface KeySource {
  /** The key that must have signed a token with this header; throws a JwtError `unknown_key` or `algorithm`. */
  findKey(header: JwtHeader): JwtKey | Promise<JwtKey>
}

/** Returns the key only for its own algorithm: the key decides, never the token (RFC 8725 section 3.1). */
export function keyForAlgorithm(key: JwtKey | undefined, alg: string): JwtKey {
  if (!key) throw new JwtError('unknown_key')
  if (key.alg !== alg) throw new JwtError('algorithm')
  return key
}
