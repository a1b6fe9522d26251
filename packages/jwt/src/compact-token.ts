import { JwtError } from './jwt-error.js'

/**
 * Longest accepted token, in characters. Node refuses request headers above 16 KiB by itself; tokens that
 * arrive in a response body may be larger because of user metadata.
 */
export const MAX_TOKEN_LENGTH = 65_536

/** The header fields that choose a key. Everything else in a header (`jku`, `jwk`, `x5u`, …) is never looked at. */
export type JwtHeader = { readonly alg: string; readonly kid?: string }

/** A JWS in compact form, taken apart but not verified; the three segments are still base64url. */
export type CompactToken = {
  readonly text: string
  readonly header: JwtHeader
  readonly signingInput: string
  readonly payload: string
  readonly signature: string
}

const THREE_SEGMENTS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Takes a token apart and checks its form and header; throws a `malformed` JwtError. */
export function parseCompactToken(text: unknown): CompactToken {
  if (typeof text !== 'string' || text.length > MAX_TOKEN_LENGTH || !THREE_SEGMENTS.test(text)) {
    throw new JwtError('malformed')
  }
  const firstDot = text.indexOf('.')
  const lastDot = text.lastIndexOf('.')
  const header = text.slice(0, firstDot)
  const payload = text.slice(firstDot + 1, lastDot)
  const signature = text.slice(lastDot + 1)
  if (!isCanonical(header) || !isCanonical(payload) || !isCanonical(signature))
    throw new JwtError('malformed')
  return { text, header: headerOf(header), signingInput: text.slice(0, lastDot), payload, signature }
}

/** Decodes one base64url segment as JSON; throws a `malformed` JwtError. */
export function decodeJson(segment: string): unknown {
  return parseJson(Buffer.from(segment, 'base64url').toString('utf8'))
}

/** Whether a decoded JSON value is an object with a place for named members. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Decoders drop the unused bits of a last character, so without this check one token has several spellings.
function isCanonical(segment: string): boolean {
  const last = segment.charAt(segment.length - 1)
  switch (segment.length % 4) {
    case 0:
      return true
    case 2:
      return 'AQgw'.includes(last)
    case 3:
      return 'AEIMQUYcgkosw048'.includes(last)
    default:
      return false
  }
}

// All tokens of one key have the same header, so few headers come again and again. Only well-formed ones get here, and a
// flood of different ones costs no more than reading each.
const MAX_HEADERS = 100
const MAX_HEADER_LENGTH = 512
const headers = new Map<string, JwtHeader>()

function headerOf(segment: string): JwtHeader {
  const known = headers.get(segment)
  if (known) return known
  const header = Object.freeze(readHeader(segment))
  if (headers.size >= MAX_HEADERS) headers.clear()
  if (segment.length <= MAX_HEADER_LENGTH) headers.set(segment, header)
  return header
}

function readHeader(segment: string): JwtHeader {
  const json = Buffer.from(segment, 'base64url').toString('utf8')
  const header = parseJson(json)
  if (!isJsonObject(header) || countMembers(json) !== Object.keys(header).length)
    throw new JwtError('malformed')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string'))
    throw new JwtError('malformed')
  // Media types ignore case (RFC 7519 section 5.1). A typed token of another kind (`at+jwt`, `dpop+jwt`) is not
  // a user token, whoever signed it (RFC 8725 section 3.11).
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT'))
    throw new JwtError('malformed')
  // RFC 7515 section 4.1.11: an extension that is not understood makes the token invalid; none is understood here.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) throw new JwtError('malformed')
  return { alg, kid }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new JwtError('malformed')
  }
}

// RFC 7515 section 4: header names are unique. JSON.parse keeps the last of two equal names and another library
// may keep the first, so the members of the (valid) JSON text are counted: one top-level colon each.
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
