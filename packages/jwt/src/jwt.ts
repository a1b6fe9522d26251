import { CompactSign, compactVerify, type JWTPayload } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { parseHeader } from './compact-token.js'
import { isJsonObject } from './jwk.js'
import { JwtError } from './jwt-error.js'
import { demand, type JwtKey, type KeySource } from './key.js'

/** Registered claims (RFC 7519 section 4.1; times in seconds since 1970) and any others. */
export type JwtClaims = JWTPayload

/** What a token must satisfy in addition to its signature. */
export type VerifyOptions = {
  /** The token's `aud` must contain this value, or one of these values. An empty list accepts nothing. */
  readonly audience?: string | readonly string[]
  /** The token's `iss` must be exactly this value or one of these. */
  readonly issuer?: string | readonly string[]
  /** Refuses tokens without `exp`. Off by default: service tokens are long-lived. */
  readonly requireExp?: boolean
  /** How far the issuer's clock may be off, in seconds, for `exp` and `nbf`. Default 0. */
  readonly clockSkewSeconds?: number
  readonly now?: () => Date
}

const SIGNATURE_ONLY = { ignoreExpiration: true, ignoreNotBefore: true }

/**
 * Signs claims unchanged with the ring's signing key. The header contains `alg`, `typ: "JWT"`, and the key's `kid` if it has one. Adds
 * no claims: the caller sets `iat` and `exp`. Throws a TypeError for time claims that are not whole seconds.
 */
export async function signJwt({ signingKey }: { signingKey: JwtKey }, claims: JwtClaims): Promise<string> {
  const { alg, kid, signKey } = signingKey
  demand(signKey, 'The key can only verify')
  const { iat = 0, exp = 0, nbf = 0 } = claims
  for (const [name, time] of Object.entries({ iat, exp, nbf }))
    demand(Number.isSafeInteger(time) && time >= 0, `The claim ${name} must be whole seconds since 1970`)
  const header = { alg, typ: 'JWT', kid } // JSON leaves out a `kid` that is undefined
  const text = JSON.stringify(claims) // the library would add `iat` to an object
  if (alg === 'HS256' || alg === 'ES256') return jsonwebtoken.sign(text, signKey, { algorithm: alg, header })
  // jsonwebtoken does not support EdDSA, and would block the event loop for most of a millisecond with RS256, so jose signs in libuv's
  // pool. For ES256, passing the job to the pool takes twice as long as the signature itself (decision 0020).
  return new CompactSign(Buffer.from(text)).setProtectedHeader(header).sign(signKey)
}

/**
 * Verifies form and header, key and algorithm, signature, claims, in this order, and returns the claims. Throws a JwtError, or what the
 * key source throws. If two claims have the same name, the last one counts (RFC 7519 section 4).
 */
export async function verifyJwt(keys: KeySource, token: string, options: VerifyOptions = {}) {
  const key = await keys.findKey(parseHeader(token))
  const claims = await verifySignature(key, token)
  if (!isClaims(claims)) throw new JwtError('malformed')
  checkClaims(claims, options)
  return claims
}

/** Checks the signature with the key's own algorithm and returns the decoded payload, without checking its claims. */
async function verifySignature({ alg, verifyKey }: JwtKey, token: string): Promise<unknown> {
  try {
    if (alg !== 'EdDSA')
      return jsonwebtoken.verify(token, verifyKey, { algorithms: [alg], ...SIGNATURE_ONLY })
    const { payload } = await compactVerify(token, verifyKey, { algorithms: [alg] })
    return JSON.parse(Buffer.from(payload).toString())
  } catch (cause) {
    // jsonwebtoken parses the payload before it checks the signature, and the parser's message quotes the payload.
    if (cause instanceof SyntaxError) throw new JwtError('malformed')
    throw new JwtError('bad_signature', { cause })
  }
}

function isClaims(payload: unknown): payload is JwtClaims {
  // JSON.parse makes "__proto__" an ordinary member; copying such claims later would set a prototype.
  if (!isJsonObject(payload) || Object.hasOwn(payload, '__proto__')) return false
  const isText = (value: unknown) => typeof value === 'string'
  const { exp = 0, nbf = 0, iat = 0, iss = '', sub = '', jti = '', aud = [] } = payload
  return [exp, nbf, iat].every(Number.isFinite) && [iss, sub, jti, ...[aud].flat()].every(isText)
}

function checkClaims(claims: JwtClaims, options: VerifyOptions): void {
  const { audience, issuer, requireExp = false, clockSkewSeconds = 0, now = () => new Date() } = options
  const { exp = Infinity, nbf = -Infinity, aud = [], iss = [] } = claims
  const seconds = now().getTime() / 1000
  if (requireExp && claims.exp === undefined) throw new JwtError('missing_exp')
  if (seconds >= exp + clockSkewSeconds) throw new JwtError('expired')
  if (seconds < nbf - clockSkewSeconds) throw new JwtError('not_yet_valid')
  const isOneOf = (wanted: unknown) => (value: unknown) => [wanted].flat().includes(value)
  if (audience !== undefined && ![aud].flat().some(isOneOf(audience))) throw new JwtError('audience')
  if (issuer !== undefined && ![iss].flat().some(isOneOf(issuer))) throw new JwtError('issuer')
}
