import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject, sign, verify } from 'node:crypto'
import { isJsonObject } from './compact-token.js'
import type { JwtAlgorithm, NamedKey } from './key.js'

// Configured keys are imported by node:crypto, not by jose, whose import is asynchronous: settings are checked in one
// synchronous pass that reports every problem.

/** Takes one problem. Messages never repeat a value, which may be a secret in the wrong place. */
export type Report = (problem: string) => void
type Jwk = Record<string, unknown>

const KEY_TYPES = new Map<unknown, { alg: JwtAlgorithm; crv?: string }>([
  ['RSA', { alg: 'RS256' }],
  ['EC', { alg: 'ES256', crv: 'P-256' }],
  ['OKP', { alg: 'EdDSA', crv: 'Ed25519' }],
  ['oct', { alg: 'HS256' }],
])
const OPERATIONS: readonly unknown[] = ['sign', 'verify']
const MIN_RSA_BITS = 2048
const PROBE = Buffer.from('{}')

/** Imports an `oct`, RSA, EC P-256 or Ed25519 key, with its private part if there is one; throws what is wrong with it. */
export function importJwk(jwk: unknown): NamedKey {
  if (!isJsonObject(jwk)) throw new TypeError('must be an object')
  const { kid, use = 'sig', key_ops: operations = ['verify'] } = jwk
  const { alg, crv } = KEY_TYPES.get(jwk['kty']) ?? {}
  if (!isKid(kid)) throw new TypeError(KID_RULE)
  if (use !== 'sig') throw new TypeError('use must be "sig"')
  if (
    !Array.isArray(operations) ||
    !operations.length ||
    !operations.every((name) => OPERATIONS.includes(name))
  )
    throw new TypeError('key_ops must list "verify", "sign" or both')
  if (alg === undefined) throw new TypeError('kty must be RSA, EC, OKP or oct')
  if (jwk['alg'] !== undefined && jwk['alg'] !== alg) throw new TypeError(`alg must be ${alg} for this kty`)
  if (crv && jwk['crv'] !== crv) throw new TypeError(`crv must be ${crv} for this kty`)
  return { kid, alg, ...(alg === 'HS256' ? importOct(jwk) : importPair(jwk, alg)) }
}

/** Imports a JSON array of JWKs or a JWK Set; problems name the position. `jwks` holds the elements as they are. */
export function importJwkList(json: string, report: Report): { keys: NamedKey[]; jwks?: unknown[] } {
  const jwks = readList(json)
  if (!jwks) {
    report('must be a JSON array of JWKs or {"keys": […]}')
    return { keys: [] }
  }
  const keys = new Map<string, NamedKey>()
  for (const [index, jwk] of jwks.entries()) {
    const key = attempt(
      () => importJwk(jwk),
      (problem) => report(`[${index}] ${problem}`),
    )
    if (key && keys.has(key.kid)) report(`[${index}] has the kid of another key`)
    if (key) keys.set(key.kid, key)
  }
  return { keys: [...keys.values()], jwks }
}

/** What `work` returns, or undefined after its error was reported. */
export function attempt<T>(work: () => T, report: Report): T | undefined {
  try {
    return work()
  } catch (error) {
    report(error instanceof TypeError ? error.message : 'unusable')
    return undefined
  }
}

/** The key of an HS256 secret; throws why it is too weak (RFC 7518 section 3.2: not shorter than the hash). */
export function importSecret(bytes: Buffer): KeyObject {
  if (bytes.length < 32) throw new TypeError('an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)')
  if (new Set(bytes).size < 8)
    throw new TypeError('an HS256 secret must not repeat a few characters; use a random value')
  return createSecretKey(bytes)
}

export const KID_RULE = 'kid must be 1 to 255 printable ASCII characters'
// jsonwebtoken would garble other characters.
export const isKid = (kid: unknown): kid is string =>
  typeof kid === 'string' && /^[\x20-\x7e]{1,255}$/.test(kid)

/** Throws when anybody could forge signatures of this key. */
export function checkStrength({ asymmetricKeyDetails }: KeyObject): void {
  const { modulusLength = MIN_RSA_BITS, publicExponent = 3n } = asymmetricKeyDetails ?? {}
  if (modulusLength < MIN_RSA_BITS) throw new TypeError(`an RSA key needs at least ${MIN_RSA_BITS} bits`)
  // With e = 1 a signature is the padded hash itself.
  if (publicExponent < 3n || publicExponent % 2n === 0n)
    throw new TypeError('the RSA exponent must be odd and at least 3')
}

function readList(json: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(json)
    const list = isJsonObject(value) ? value['keys'] : value
    return Array.isArray(list) ? list : undefined
  } catch {
    return undefined // the parser's own message quotes the text
  }
}

function importPair(jwk: Jwk, alg: JwtAlgorithm) {
  const { kty, n, e, crv, x, y } = jwk
  const create = <T>(half: string, work: () => T): T => {
    try {
      return work()
    } catch {
      throw new TypeError(`the ${half}`)
    }
  }
  const verifyKey = create('public part is not a valid key', () =>
    createPublicKey({ key: { kty, n, e, crv, x, y } as Jwk, format: 'jwk' }),
  )
  checkStrength(verifyKey)
  if (!Object.hasOwn(jwk, 'd')) return { verifyKey }
  const signKey = create('private part is not a valid key, or belongs to another public part', () => {
    const key = createPrivateKey({ key: jwk, format: 'jwk' })
    const digest = alg === 'EdDSA' ? null : 'sha256'
    // A signature that verifies is the only proof that both halves belong together.
    if (!verify(digest, PROBE, verifyKey, sign(digest, PROBE, key))) throw new Error('another pair')
    return key
  })
  return { verifyKey, signKey }
}

function importOct({ k }: Jwk) {
  // Node's decoder skips what it does not know, so a mistyped secret would silently be another one.
  if (typeof k !== 'string' || !/^[\w-]+$/.test(k)) throw new TypeError('must have k in base64url')
  const secret = importSecret(Buffer.from(k, 'base64url'))
  return { verifyKey: secret, signKey: secret }
}
