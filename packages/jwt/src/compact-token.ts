import { decodeProtectedHeader } from 'jose'
import { JwtError } from './jwt-error.js'
import { demand, type JwtHeader } from './key.js'

/** Length of the longest accepted token, in characters. Node itself limits the size of request headers, but not of response bodies. */
export const MAX_TOKEN_LENGTH = 65_536

/** Reads the header of a JWS in compact form. Throws a `malformed` JwtError if the form or the header is not one that we sign. */
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
    // RFC 7515 section 4.1.11: an extension that the verifier does not understand makes the token invalid. This one understands none.
    demand(!Object.hasOwn(header, 'crit') && !Object.hasOwn(header, 'b64'))
    return { alg, kid }
  } catch {
    throw new JwtError('malformed') // the parser's own error quotes the text
  }
}

// Decoders skip foreign characters and drop unused bits of the last one, so without this check a token could be written in many ways.
const isCanonical = (segment: string): boolean =>
  segment !== '' && Buffer.from(segment, 'base64url').toString('base64url') === segment

// Counts the members of a valid JSON object: each has one colon outside strings and nested values.
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
