import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import { CompactSign, compactVerify, type JWTPayload } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { isJsonObject, parseHeader, parseJson } from './compact-token.js'
import { JwtError } from './jwt-error.js'
import type { JwtKey, KeySource } from './key.js'

/** Registered claims (RFC 7519 section 4.1; times in seconds since 1970) and any others. */
export type JwtClaims = JWTPayload

/** What else a token must fulfil besides its signature. */
export type VerifyOptions = {
  /** The token's `aud` must contain this value or one of these; an empty list accepts nothing. */
  readonly audience?: string | readonly string[]
  /** The token's `iss` must be exactly this value or one of these. */
  readonly issuer?: string | readonly string[]
  /** Refuse tokens without `exp`. Off by default: service tokens are long-lived. */
  readonly requireExp?: boolean
  /** How far the issuer's clock may be off, in seconds, for `exp` and `nbf`. Default 0. */
  readonly clockSkewSeconds?: number
  /** The clock. */
  readonly now?: () => Date
}

const TIME_CLAIMS = ['iat', 'exp', 'nbf'] as const
const TEXT_CLAIMS = ['iss', 'sub', 'jti'] as const
const signInPool = promisify(sign)

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
  if (alg === 'EdDSA') return new CompactSign(Buffer.from(payload)).setProtectedHeader(header).sign(signKey)
  // jsonwebtoken signs on the event loop, which RSA would block for most of a millisecond; this uses libuv's pool. For
  // ES256 handing the job over costs twice the signature.
  const input = [JSON.stringify(header), payload]
    .map((text) => Buffer.from(text).toString('base64url'))
    .join('.')
  const signature = await signInPool('sha256', Buffer.from(input), signKey)
  return `${input}.${signature.toString('base64url')}`
}

/**
 * Verifies a compact JWT in the order form and header, key and algorithm, signature, claims, and returns its claims;
 * throws a JwtError. A JwksClient as key source may also throw JwksUnavailableError. Of two claims with the same name
 * the last one counts (RFC 7519 section 4).
 */
export async function verifyJwt(
  keys: KeySource,
  token: string,
  options: VerifyOptions = {},
): Promise<JwtClaims> {
  const key = await keys.findKey(parseHeader(token))
  const claims = readClaims(await verifySignature(key, token))
  checkTimes(claims, options)
  const { audience, issuer } = options
  if (audience !== undefined && !intersects(claims.aud, audience)) throw new JwtError('audience')
  if (issuer !== undefined && !intersects(claims.iss, issuer)) throw new JwtError('issuer')
  return claims
}

/** Checks the signature with the key's own algorithm and returns the decoded payload; no claim is looked at. */
async function verifySignature({ alg, verifyKey }: JwtKey, token: string): Promise<unknown> {
  try {
    if (alg !== 'EdDSA')
      return jsonwebtoken.verify(token, verifyKey, {
        algorithms: [alg],
        ignoreExpiration: true,
        ignoreNotBefore: true,
      })
    const { payload } = await compactVerify(token, verifyKey, { algorithms: [alg] })
    return parseJson(Buffer.from(payload).toString())
  } catch (cause) {
    if (cause instanceof JwtError) throw cause
    // jsonwebtoken reads the payload before it checks the signature; every other failure is the signature's, such as an
    // ES256 signature of the wrong length.
    throw new JwtError(cause instanceof SyntaxError ? 'malformed' : 'bad_signature', { cause })
  }
}

function readClaims(payload: unknown): JwtClaims {
  // JSON.parse makes "__proto__" an ordinary member; copying such claims later would set a prototype.
  if (!isJsonObject(payload) || Object.hasOwn(payload, '__proto__')) throw new JwtError('malformed')
  const { aud = [] } = payload
  const wellFormed =
    TIME_CLAIMS.every((name) => !Object.hasOwn(payload, name) || Number.isFinite(payload[name])) &&
    TEXT_CLAIMS.every((name) => !Object.hasOwn(payload, name) || typeof payload[name] === 'string') &&
    (Array.isArray(aud) ? aud : [aud]).every((value) => typeof value === 'string')
  if (!wellFormed) throw new JwtError('malformed')
  return payload
}

function checkTimes(claims: JwtClaims, options: VerifyOptions): void {
  const { requireExp = false, clockSkewSeconds = 0, now = () => new Date() } = options
  const { exp = Infinity, nbf = -Infinity } = claims
  const seconds = now().getTime() / 1000
  if (requireExp && claims.exp === undefined) throw new JwtError('missing_exp')
  if (seconds >= exp + clockSkewSeconds) throw new JwtError('expired')
  if (seconds < nbf - clockSkewSeconds) throw new JwtError('not_yet_valid')
}

function intersects(actual: string | string[] | undefined, accepted: string | readonly string[]): boolean {
  const [has, wants] = [actual ?? [], accepted].map((value) => (typeof value === 'string' ? [value] : value))
  return has?.some((value) => wants?.includes(value)) ?? false
}
