import { sign, verify } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import { type CompactToken, decodeJson } from './compact-token.js'
import { JwtError } from './jwt-error.js'
import { type JwtKey } from './jwt-key.js'

// `jsonwebtoken` implements HS256, RS256 and ES256 but not Ed25519; this file is the only one that knows.

/** Signs a payload that is already JSON text, so that no library adds or changes claims. */
export function signCompactToken(key: JwtKey, payload: string): string {
  if (!key.signKey) throw new TypeError('The key can only verify')
  const header = { alg: key.alg, typ: 'JWT', ...(key.kid === undefined ? {} : { kid: key.kid }) }
  if (key.alg !== 'EdDSA') return jsonwebtoken.sign(payload, key.signKey, { algorithm: key.alg, header })
  const signingInput = `${encode(JSON.stringify(header))}.${encode(payload)}`
  return `${signingInput}.${sign(null, Buffer.from(signingInput), key.signKey).toString('base64url')}`
}

/** Checks the signature with the key's own algorithm and returns the decoded payload; no claim is looked at. */
export function verifyCompactToken(key: JwtKey, token: CompactToken): unknown {
  if (key.alg !== 'EdDSA') return verifyWithLibrary(key, key.alg, token.text)
  const signature = Buffer.from(token.signature, 'base64url')
  if (!verify(null, Buffer.from(token.signingInput), key.verifyKey, signature)) {
    throw new JwtError('bad_signature')
  }
  return decodeJson(token.payload)
}

function verifyWithLibrary(key: JwtKey, alg: 'HS256' | 'RS256' | 'ES256', token: string): unknown {
  try {
    return jsonwebtoken.verify(token, key.verifyKey, {
      algorithms: [alg],
      ignoreExpiration: true,
      ignoreNotBefore: true,
    })
  } catch (error) {
    // The library reads the payload before it checks the signature; every other failure is the signature's,
    // such as an ES256 signature of the wrong length.
    throw new JwtError(error instanceof SyntaxError ? 'malformed' : 'bad_signature', { cause: error })
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
