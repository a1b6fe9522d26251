import { isJsonObject, parseCompactToken } from './compact-token.js'
import { JwtError } from './jwt-error.js'
import { type KeySource } from './jwt-key.js'
import { type KeyRing } from './key-ring.js'
import { signCompactToken, verifyCompactToken } from './signature.js'

/** Registered claims (RFC 7519 section 4.1; times in seconds since 1970) and any others. */
export type JwtClaims = {
  iss?: string
  sub?: string
  aud?: string | string[]
  exp?: number
  nbf?: number
  iat?: number
  jti?: string
  [claim: string]: unknown
}

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

/**
 * Signs claims as they are with the ring's signing key; header `alg`, `typ: "JWT"` and the key's `kid` if it has one.
 * Nothing is added: the caller sets `iat` and `exp`. Throws a TypeError for time claims that are not whole seconds.
 */
export function signJwt(keys: KeyRing, claims: JwtClaims): string {
  for (const name of TIME_CLAIMS) {
    const time = claims[name]
    if (time !== undefined && !(Number.isSafeInteger(time) && time >= 0)) {
      throw new TypeError(`The claim ${name} must be whole seconds since 1970`)
    }
  }
  return signCompactToken(keys.signingKey, JSON.stringify(claims))
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
  const parsed = parseCompactToken(token)
  const claims = readClaims(verifyCompactToken(await keys.findKey(parsed.header), parsed))
  checkTimes(claims, options)
  if (options.audience !== undefined && !intersects(claims.aud, options.audience))
    throw new JwtError('audience')
  if (options.issuer !== undefined && !intersects(claims.iss, options.issuer)) throw new JwtError('issuer')
  return claims
}

const TIME_CLAIMS = ['iat', 'exp', 'nbf'] as const
const TEXT_CLAIMS = ['iss', 'sub', 'jti'] as const

function readClaims(payload: unknown): JwtClaims {
  // JSON.parse makes "__proto__" an ordinary member; copying such claims later would set a prototype.
  if (!isJsonObject(payload) || Object.hasOwn(payload, '__proto__')) throw new JwtError('malformed')
  const { aud } = payload
  const wellFormed =
    TIME_CLAIMS.every((name) => payload[name] === undefined || Number.isFinite(payload[name])) &&
    TEXT_CLAIMS.every((name) => payload[name] === undefined || typeof payload[name] === 'string') &&
    (aud === undefined || typeof aud === 'string' || isTextList(aud))
  if (!wellFormed) throw new JwtError('malformed')
  return payload
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function checkTimes(claims: JwtClaims, options: VerifyOptions): void {
  const { requireExp = false, clockSkewSeconds = 0, now = () => new Date() } = options
  const seconds = now().getTime() / 1000
  if (claims.exp === undefined) {
    if (requireExp) throw new JwtError('missing_exp')
  } else if (seconds >= claims.exp + clockSkewSeconds) {
    throw new JwtError('expired')
  }
  if (claims.nbf !== undefined && seconds < claims.nbf - clockSkewSeconds) throw new JwtError('not_yet_valid')
}

function intersects(actual: string | string[] | undefined, accepted: string | readonly string[]): boolean {
  const wanted = typeof accepted === 'string' ? [accepted] : accepted
  if (actual === undefined) return false
  return typeof actual === 'string' ? wanted.includes(actual) : actual.some((value) => wanted.includes(value))
}
