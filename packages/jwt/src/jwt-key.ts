import { type KeyObject } from 'node:crypto'
import { type JwtAlgorithm } from './algorithms.js'
import { type JwtHeader } from './compact-token.js'
import { JwtError } from './jwt-error.js'

/**
 * A key bound to its one algorithm. For HS256 both KeyObjects are the secret; `signKey` is absent when only
 * verification is possible. KeyObjects are made once: parsing a key on every call costs up to a hundred times more.
 */
export type JwtKey = {
  readonly alg: JwtAlgorithm
  readonly kid?: string
  readonly verifyKey: KeyObject
  readonly signKey?: KeyObject
}

/** Where verification keys come from: a KeyRing, a PublicKeySet or a JwksClient. */
export interface KeySource {
  /** The key that must have signed a token with this header; throws a JwtError `unknown_key` or `algorithm`. */
  findKey(header: JwtHeader): JwtKey | Promise<JwtKey>
}

/** Hands out the key only for its own algorithm: the key decides, never the token (RFC 8725 section 3.1). */
export function keyForAlgorithm(key: JwtKey, alg: string): JwtKey {
  if (key.alg !== alg) throw new JwtError('algorithm')
  return key
}
