import { createSecretKey, type KeyObject } from 'node:crypto'
import { JwtError } from './jwt-error.js'

/** The JWS algorithms that Signet signs and verifies with (EdDSA with Ed25519 only). The type excludes `none`. */
export const JWT_ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]
export type AsymmetricAlgorithm = Exclude<JwtAlgorithm, 'HS256'>

/** The header fields that choose a key. All others (`jku`, `jwk`, `x5u`, …) are ignored. */
export type JwtHeader = { readonly alg: string; readonly kid?: string | undefined }

/** A key that is bound to one algorithm. For HS256, both KeyObjects are the secret. Without `signKey`, it only verifies. */
export type JwtKey = JwtHeader & {
  readonly alg: JwtAlgorithm
  readonly verifyKey: KeyObject
  readonly signKey?: KeyObject
}

export type NamedKey = JwtKey & { readonly kid: string }

export interface KeySource {
  /** Returns the key that must have signed a token with this header. Throws a JwtError `unknown_key` or `algorithm`. */
  findKey(header: JwtHeader): JwtKey | Promise<JwtKey>
}

/**
 * Verification keys by `kid`; only tokens with one of the `algorithms` are accepted. The `secret` verifies HS256 tokens that name no
 * key. Without a secret, a token must name a key. A set never changes.
 */
export class KeySet implements KeySource {
  constructor(
    readonly keys: readonly NamedKey[],
    private readonly rules: { readonly secret?: JwtKey; readonly algorithms?: readonly string[] } = {},
  ) {}

  findKey({ alg, kid }: JwtHeader): JwtKey {
    const { secret, algorithms = JWT_ALGORITHMS } = this.rules
    if (!algorithms.includes(alg)) throw new JwtError('algorithm')
    const named = [...this.keys, secret].find((key) => key?.kid !== undefined && key.kid === kid)
    // Tokens that others sign with the shared secret often have no kid, or a different one.
    const key = named ?? (alg === 'HS256' ? secret : undefined)
    if (!key) throw new JwtError('unknown_key')
    // The key decides, never the token (RFC 8725 section 3.1).
    if (key.alg !== alg) throw new JwtError('algorithm')
    return key
  }
}

export function demand(condition: unknown, problem?: string): asserts condition {
  if (!condition) throw new TypeError(problem)
}

/** Makes the key of an HS256 secret. Throws a TypeError if the secret is too weak (RFC 7518 section 3.2: not shorter than the hash). */
export function importSecret(bytes: Buffer, kid?: string): JwtKey {
  demand(bytes.length >= 32, 'an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)')
  demand(new Set(bytes).size >= 8, 'an HS256 secret must not repeat a few characters; use a random value')
  const secret = createSecretKey(bytes)
  return { alg: 'HS256', kid, verifyKey: secret, signKey: secret }
}
