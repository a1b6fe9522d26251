import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { demand, importSecret, type JwtAlgorithm, type NamedKey } from './key.js'

const KEY_TYPES = new Map<unknown, { alg: JwtAlgorithm; crv?: string }>([
  ['RSA', { alg: 'RS256' }],
  ['EC', { alg: 'ES256', crv: 'P-256' }],
  ['OKP', { alg: 'EdDSA', crv: 'Ed25519' }],
  ['oct', { alg: 'HS256' }],
])
const MIN_RSA_BITS = 2048
const isOperation = (name: unknown): boolean => name === 'sign' || name === 'verify'

export const KID_RULE = 'kid must be 1 to 255 printable ASCII characters'
// jsonwebtoken would garble other characters.
export const isKid = (kid: unknown): kid is string =>
  typeof kid === 'string' && /^[\x20-\x7e]{1,255}$/.test(kid)

/**
 * Imports a verification key: a secret, or the public half of a key. Throws a TypeError that says what is wrong with it. Uses
 * node:crypto, whose import is synchronous, unlike that of jose: settings are checked in one pass that reports every problem.
 */
export function importJwk(jwk: unknown): NamedKey {
  demand(isJsonObject(jwk), 'must be an object')
  const { kid, use = 'sig', key_ops: operations = ['verify'] } = jwk
  const { alg, crv } = KEY_TYPES.get(jwk['kty']) ?? {}
  demand(isKid(kid), KID_RULE)
  demand(use === 'sig', 'use must be "sig"')
  const isListed = Array.isArray(operations) && operations.length > 0
  demand(isListed && operations.every(isOperation), 'key_ops must list "verify", "sign" or both')
  demand(alg, 'kty must be RSA, EC, OKP or oct')
  demand(jwk['alg'] === undefined || jwk['alg'] === alg, `alg must be ${alg} for this kty`)
  demand(!crv || jwk['crv'] === crv, `crv must be ${crv} for this kty`)
  return { kid, alg, verifyKey: alg === 'HS256' ? importOct(jwk) : importPublicHalf(jwk) }
}

function importOct({ k }: JWK): KeyObject {
  // Node's decoder skips characters that it does not know, so a mistyped secret would silently become a different one.
  demand(typeof k === 'string' && /^[\w-]+$/.test(k), 'must have k in base64url')
  return importSecret(Buffer.from(k, 'base64url')).verifyKey
}

function importPublicHalf({ kty, n, e, crv, x, y }: JWK): KeyObject {
  let key: KeyObject
  try {
    key = createPublicKey({ key: { kty, n, e, crv, x, y } as Record<string, string>, format: 'jwk' })
  } catch {
    throw new TypeError('the public part is not a valid key')
  }
  const { modulusLength = MIN_RSA_BITS, publicExponent = 3n } = key.asymmetricKeyDetails ?? {}
  demand(modulusLength >= MIN_RSA_BITS, `an RSA key needs at least ${MIN_RSA_BITS} bits`)
  // With e = 1 a signature is the padded hash itself.
  demand(publicExponent > 1n && publicExponent % 2n === 1n, 'the RSA exponent must be odd and at least 3')
  return key
}

/** Imports a list of keys. Problems name the position and the rule, never a value, which may be a secret. */
export function importJwks(jwks: readonly unknown[], importOne = importJwk) {
  const keys = new Map<string, NamedKey>()
  const problems: string[] = []
  for (const [index, jwk] of jwks.entries()) {
    try {
      const key = importOne(jwk)
      demand(!keys.has(key.kid), 'has the kid of another key')
      keys.set(key.kid, key)
    } catch (error) {
      problems.push(`[${index}] ${error instanceof TypeError ? error.message : 'is unusable'}`)
    }
  }
  return { keys: [...keys.values()], problems }
}

/** Returns the elements of a JSON array of JWKs or of a JWK Set, or undefined for anything else. */
export function parseJwks(json: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(json)
    const list = isJsonObject(value) ? value['keys'] : value
    return Array.isArray(list) ? list : undefined
  } catch {
    return undefined // the parser's own message quotes the text
  }
}

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
