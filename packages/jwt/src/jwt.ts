import { CompactSign, compactVerify, type JWTPayload } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { parseHeader } from './compact-token.js'
import { isJsonObject } from './jwk.js'
import { JwtError, type JwtErrorReason } from './jwt-error.js'
import type { JwtKey, KeySource } from './key.js'

/** Registered claims (RFC 7519 section 4.1; times in seconds since 1970) and any others. */
export type JwtClaims = JWTPayload

/** What a token must satisfy in addition to its signature. */
export type VerifyOptions = {
  /** The token's `aud` must contain this value or one of these; an empty list accepts nothing. */
  readonly audience?: string | readonly string[]
  /** The token's `iss` must be exactly this value or one of these. */
  readonly issuer?: string | readonly string[]
  /** Refuse tokens without `exp`. Off by default: service tokens are long-lived. */
  readonly requireExp?: boolean
  /** How far the issuer's clock may be off, in seconds, for `exp` and `nbf`. Default 0. */
  readonly clockSkewSeconds?: number
  readonly now?: () => Date
}

const TIME_CLAIMS = ['iat', 'exp', 'nbf'] as const
const SIGNATURE_ONLY = { ignoreExpiration: true, ignoreNotBefore: true }
const TEXT_CLAIMS = ['iss', 'sub', 'jti'] as const

/**
 * Signs claims as they are with the ring's signing key; header `alg`, `typ: "JWT"` and the key's `kid` if it has one.
 * Nothing is added: the caller sets `iat` and `exp`. Throws a TypeError for time claims that are not whole seconds.
 */
export async function signJwt({ signingKey }: { signingKey: JwtKey }, claims: JwtClaims): Promise<string> {
  const { alg, kid, signKey } = signingKey
  if (!signKey) throw new TypeError('The key can only verify')
  for (const name of TIME_CLAIMS)
    if (claims[name] !== undefined && !(Number.isSafeInteger(claims[name]) && claims[name] >= 0))
      throw new TypeError(`The claim ${name} must be whole seconds since 1970`)
  const header = { alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) }
  const payload = JSON.stringify(claims)
  // As text, so that the library adds no `iat`.
  if (alg === 'HS256' || alg === 'ES256')
    return jsonwebtoken.sign(payload, signKey, { algorithm: alg, header })
  // jsonwebtoken has no EdDSA, and RS256 would block its event loop for most of a millisecond: jose signs in libuv's pool.
  // For ES256 handing the job over costs twice the signature (decision 0020).
  return new CompactSign(Buffer.from(payload)).setProtectedHeader(header).sign(signKey)
}

/**
 * Verifies a compact JWT in the order form and header, key and algorithm, signature, claims, and returns its claims;
 * throws a JwtError. A JwksClient as key source may also throw JwksUnavailableError. Of two claims with the same name
 * the last one counts (RFC 7519 section 4).
 */
export async function verifyJwt(keys: KeySource, token: string, options: VerifyOptions = {}) {
  const key = await keys.findKey(parseHeader(token))
  const claims = await verifySignature(key, token)
  if (!isClaims(claims)) throw new JwtError('malformed')
  const reason = reasonAgainst(claims, options)
  if (reason) throw new JwtError(reason)
  return claims
}

/** Checks the signature with the key's own algorithm and returns the decoded payload; no claim is looked at. */
async function verifySignature({ alg, verifyKey }: JwtKey, token: string): Promise<unknown> {
  try {
    if (alg !== 'EdDSA')
      return jsonwebtoken.verify(token, verifyKey, { algorithms: [alg], ...SIGNATURE_ONLY })
    const { payload } = await compactVerify(token, verifyKey, { algorithms: [alg] })
    return JSON.parse(Buffer.from(payload).toString())
  } catch (cause) {
    // jsonwebtoken reads the payload before it checks the signature, and the parser's message quotes it.
    if (cause instanceof SyntaxError) throw new JwtError('malformed')
    throw new JwtError('bad_signature', { cause })
  }
}

function isClaims(payload: unknown): payload is JwtClaims {
  // JSON.parse makes "__proto__" an ordinary member; copying such claims later would set a prototype.
  if (!isJsonObject(payload) || Object.hasOwn(payload, '__proto__')) return false
  const each = (names: readonly string[], isValid: (value: unknown) => boolean) =>
    names.every((name) => !Object.hasOwn(payload, name) || isValid(payload[name]))
  const isText = (value: unknown) => typeof value === 'string'
  const { aud = [] } = payload
  return each(TIME_CLAIMS, Number.isFinite) && each(TEXT_CLAIMS, isText) && [aud].flat().every(isText)
}

function reasonAgainst(claims: JwtClaims, options: VerifyOptions): JwtErrorReason | undefined {
  const { audience, issuer, requireExp = false, clockSkewSeconds = 0, now = () => new Date() } = options
  const { exp = Infinity, nbf = -Infinity, aud = [], iss = [] } = claims
  const seconds = now().getTime() / 1000
  if (requireExp && claims.exp === undefined) return 'missing_exp'
  if (seconds >= exp + clockSkewSeconds) return 'expired'
  if (seconds < nbf - clockSkewSeconds) return 'not_yet_valid'
  const meets = (has: unknown, wanted: unknown) =>
    [has].flat().some((value) => [wanted].flat().includes(value))
  if (audience !== undefined && !meets(aud, audience)) return 'audience'
  return issuer !== undefined && !meets(iss, issuer) ? 'issuer' : undefined
}
