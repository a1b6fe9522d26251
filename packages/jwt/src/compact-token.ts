import { decodeProtectedHeader } from 'jose'
import { JwtError } from './jwt-error.js'
import { demand, type JwtHeader } from './key.js'

/** Longest accepted token, in characters. Node refuses longer request headers by itself, response bodies it does not. */
export const MAX_TOKEN_LENGTH = 65_536

/** Reads the header of a JWS in compact form; throws a `malformed` JwtError when form or header are not what we sign. */
export function parseHeader(token: unknown): JwtHeader {
  try {
    demand(typeof token === 'string' && token.length <= MAX_TOKEN_LENGTH)
    const segments = token.split('.')
    demand(segments.length === 3 && segments.every(isCanonical))
    const header = decodeProtectedHeader(token) as Record<string, unknown>
    // RFC 7515 section 4: header names are unique. JSON.parse keeps the last of two equal names, other libraries the first.
    demand(countMembers(segments[0]) === Object.keys(header).length)
    const { alg, kid, typ = 'JWT' } = header
    demand(typeof alg === 'string' && (kid === undefined || typeof kid === 'string'))
    // A typed token of another kind (`at+jwt`, `dpop+jwt`) is not a user token (RFC 8725 section 3.11).
    demand(typeof typ === 'string' && typ.toUpperCase() === 'JWT')
    // RFC 7515 section 4.1.11: an extension that is not understood makes the token invalid; none is understood here.
    demand(!Object.hasOwn(header, 'crit') && !Object.hasOwn(header, 'b64'))
    return { alg, kid }
  } catch {
    throw new JwtError('malformed') // the parser's own error quotes the text
  }
}

// Decoders skip foreign characters and drop the unused bits of the last one: without this check a token has many spellings.
const isCanonical = (segment: string): boolean =>
  segment !== '' && Buffer.from(segment, 'base64url').toString('base64url') === segment

// The members of a valid JSON object: one colon each, outside of strings and of nested values.
function countMembers(segment = ''): number {
  const marks = Buffer.from(segment, 'base64url')
    .toString()
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
  let [depth, members] = [0, 0]
  for (const mark of marks) {
    if ('{['.includes(mark)) depth += 1
    else if ('}]'.includes(mark)) depth -= 1
    else if (mark === ':' && depth === 1) members += 1
  }
  return members
}
