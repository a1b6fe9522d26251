import { JwtError } from './jwt-error.js'
import type { JwtHeader } from './key.js'

/**
 * Longest accepted token, in characters. Node refuses request headers above 16 KiB by itself; tokens that arrive in a
 * response body may be larger because of user metadata.
 */
export const MAX_TOKEN_LENGTH = 65_536

/** Reads the header of a JWS in compact form; throws a `malformed` JwtError when form or header are not what we sign. */
export function parseHeader(token: unknown): JwtHeader {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH) throw new JwtError('malformed')
  const segments = token.split('.')
  if (segments.length !== 3 || !segments.every(isCanonical)) throw new JwtError('malformed')
  const json = Buffer.from(segments[0] ?? '', 'base64url').toString()
  const header = parseJson(json)
  if (!isJsonObject(header) || countMembers(json) !== Object.keys(header).length)
    throw new JwtError('malformed')
  const { alg, kid, typ = 'JWT' } = header
  if (typeof alg !== 'string' || !(kid === undefined || typeof kid === 'string'))
    throw new JwtError('malformed')
  // Media types ignore case (RFC 7519 section 5.1). A typed token of another kind (`at+jwt`, `dpop+jwt`) is not a user
  // token, whoever signed it (RFC 8725 section 3.11).
  if (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT') throw new JwtError('malformed')
  // RFC 7515 section 4.1.11: an extension that is not understood makes the token invalid; none is understood here.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) throw new JwtError('malformed')
  return { alg, kid }
}

/** Parses JSON of unknown origin; throws a `malformed` JwtError, because the parser's own message quotes the text. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new JwtError('malformed')
  }
}

/** Whether a decoded JSON value is an object with a place for named members. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Decoders skip foreign characters and drop the unused bits of the last one: without this check a token has many spellings.
function isCanonical(segment: string): boolean {
  return segment !== '' && Buffer.from(segment, 'base64url').toString('base64url') === segment
}

// RFC 7515 section 4: header names are unique. JSON.parse keeps the last of two equal names and another library may keep
// the first, so the members of the (valid) JSON text are counted: one top-level colon each.
function countMembers(json: string): number {
  let depth = 0
  let members = 0
  for (const mark of json.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (mark === '{' || mark === '[') depth += 1
    else if (mark === '}' || mark === ']') depth -= 1
    else if (mark === ':' && depth === 1) members += 1
  }
  return members
}
