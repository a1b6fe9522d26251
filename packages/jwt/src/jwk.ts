import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import { type JwtAlgorithm } from './algorithms.js'
import { isJsonObject, parseCompactToken } from './compact-token.js'
import { type JwtKey } from './jwt-key.js'
import { signCompactToken, verifyCompactToken } from './signature.js'

/** Takes one problem of a key. Messages never repeat a value, which may be a secret in the wrong place. */
export type Report = (problem: string) => void

/** A key that a token can name. */
export type NamedKey = JwtKey & { readonly kid: string }

/** A verification key for `/.well-known/jwks.json` (RFC 7517): no private member, never symmetric. */
export type PublicJwk = {
  readonly kid: string
  readonly kty: string
  readonly alg: JwtAlgorithm
  readonly use: 'sig'
  readonly key_ops: readonly ['verify']
  readonly n?: string
  readonly e?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
}

type Jwk = Record<string, unknown>
type KeyType = { alg: JwtAlgorithm; members: readonly string[]; curve?: string }

const KEY_TYPES = new Map<unknown, KeyType>([
  ['RSA', { alg: 'RS256', members: ['n', 'e'] }],
  ['EC', { alg: 'ES256', members: ['crv', 'x', 'y'], curve: 'P-256' }],
  ['OKP', { alg: 'EdDSA', members: ['crv', 'x'], curve: 'Ed25519' }],
  ['oct', { alg: 'HS256', members: ['k'] }],
])

const MIN_RSA_BITS = 2048
// An HS256 key shorter than the hash is the weakest part of it (RFC 7518 section 3.2).
const MIN_SECRET_BYTES = 32
const MIN_DISTINCT_BYTES = 8
const MAX_KID_LENGTH = 255

/** Imports an `oct`, RSA, EC P-256 or Ed25519 key, with its private part if there is one; undefined if reported. */
export function importJwk(value: unknown, report: Report): NamedKey | undefined {
  return collect(report, (note) => {
    const { jwk, kid, alg } = checkMembers(value, note)
    if (alg === 'HS256') {
      const secret = importSecret(Buffer.from(String(jwk['k']), 'base64url'), note)
      return secret && { alg, kid, verifyKey: secret, signKey: secret }
    }
    const verifyKey = alg && importPublicPart(jwk, note)
    if (!verifyKey || !Object.hasOwn(jwk, 'd')) return verifyKey && { alg, kid, verifyKey }
    return importPrivatePart(jwk, { alg, kid, verifyKey }, note)
  })
}

/** Imports the public part of an RSA, EC P-256 or Ed25519 key; `oct` is refused; undefined if reported. */
export function importPublicJwk(value: unknown, report: Report): NamedKey | undefined {
  return collect(report, (note) => {
    const { jwk, kid, alg } = checkMembers(value, note)
    if (alg === 'HS256') note('kty must be RSA, EC or OKP: a symmetric key is not public')
    const verifyKey = alg && alg !== 'HS256' && importPublicPart(jwk, note)
    return verifyKey ? { alg, kid, verifyKey } : undefined
  })
}

/** Makes the KeyObject of an HS256 secret; undefined if it is too weak, which is reported. */
export function importSecret(bytes: Buffer, report: Report): KeyObject | undefined {
  if (bytes.length < MIN_SECRET_BYTES) {
    report(`an HS256 secret needs at least ${MIN_SECRET_BYTES} bytes (RFC 7518 section 3.2)`)
  } else if (new Set(bytes).size < MIN_DISTINCT_BYTES) {
    report('an HS256 secret must not repeat a few characters; use a random value')
  } else {
    return createSecretKey(bytes)
  }
  return undefined
}

/** Whether a text can be a `kid` that we write. ASCII only: jsonwebtoken would garble the rest. */
export function checkKid(kid: unknown, report: Report): kid is string {
  if (typeof kid === 'string' && kid.length <= MAX_KID_LENGTH && /^[\x20-\x7e]+$/.test(kid)) return true
  report(`kid must be 1 to ${MAX_KID_LENGTH} printable ASCII characters`)
  return false
}

/** The public half of an asymmetric key, made from the imported key so that nothing else can slip through. */
export function toPublicJwk({ kid, alg, verifyKey }: NamedKey): PublicJwk {
  if (verifyKey.type !== 'public') throw new TypeError('Only public keys are published')
  const { kty = '', ...members } = verifyKey.export({ format: 'jwk' })
  return { kid, kty, alg, use: 'sig', key_ops: ['verify'], ...members }
}

// Lets the checks go on after the first problem, so that all are seen, and still yields no key.
function collect<T>(report: Report, importKey: (note: Report) => T | undefined): T | undefined {
  let problems = 0
  const key = importKey((problem) => {
    problems += 1
    report(problem)
  })
  return problems === 0 ? key : undefined
}

function checkMembers(value: unknown, note: Report): { jwk: Jwk; kid: string; alg?: JwtAlgorithm } {
  if (!isJsonObject(value)) {
    note('must be an object')
    return { jwk: {}, kid: '' }
  }
  const kid = checkKid(value['kid'], note) ? value['kid'] : ''
  if (value['use'] !== undefined && value['use'] !== 'sig') note('use must be "sig"')
  checkOperations(value['key_ops'], note)
  const type = KEY_TYPES.get(value['kty'])
  if (!type) {
    note('kty must be RSA, EC, OKP or oct')
    return { jwk: value, kid }
  }
  if (value['alg'] !== undefined && value['alg'] !== type.alg) note(`alg must be ${type.alg} for this kty`)
  if (type.curve && value['crv'] !== type.curve) note(`crv must be ${type.curve} for this kty`)
  const bad = type.members.filter((name) => !isBase64url(value[name]))
  if (bad.length > 0) note(`must have ${bad.join(', ')} in base64url`)
  const importable = bad.length === 0 && (!type.curve || value['crv'] === type.curve)
  return { jwk: value, kid, alg: importable ? type.alg : undefined }
}

// Node's decoder skips what it does not know, so a mistyped secret would silently be another one.
function isBase64url(text: unknown): boolean {
  return typeof text === 'string' && /^[\w-]+$/.test(text)
}

function checkOperations(operations: unknown, note: Report): void {
  if (operations === undefined) return
  const known = Array.isArray(operations) && operations.every((name) => name === 'sign' || name === 'verify')
  if (!known || operations.length === 0) note('key_ops must list "verify", "sign" or both')
}

function importPublicPart(jwk: Jwk, note: Report): KeyObject | undefined {
  const members = ['kty', 'n', 'e', 'crv', 'x', 'y'].map((name) => [name, jwk[name]])
  let key: KeyObject
  try {
    key = createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' })
  } catch {
    note('the public part is not a valid key')
    return undefined
  }
  return isStrong(key, note) ? key : undefined
}

function isStrong({ asymmetricKeyDetails }: KeyObject, note: Report): boolean {
  const { modulusLength = MIN_RSA_BITS, publicExponent = 3n } = asymmetricKeyDetails ?? {}
  if (modulusLength < MIN_RSA_BITS) {
    note(`an RSA key needs at least ${MIN_RSA_BITS} bits`)
    return false
  }
  // With e = 1 a signature is the padded hash itself: anybody could make one.
  if (publicExponent < 3n || publicExponent % 2n === 0n) {
    note('the RSA exponent must be odd and at least 3')
    return false
  }
  return true
}

function importPrivatePart(jwk: Jwk, key: NamedKey, note: Report): NamedKey | undefined {
  try {
    const pair = { ...key, signKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
    // A signature that verifies is the only proof that both halves belong together.
    verifyCompactToken(pair, parseCompactToken(signCompactToken(pair, '{}')))
    return pair
  } catch {
    note('the private part is not a valid key, or belongs to another public part')
    return undefined
  }
}
