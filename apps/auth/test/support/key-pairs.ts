import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'

export const rsaKey = (kid = 'rsa', modulusLength = 2048) =>
  keyPair(kid, generateKeyPairSync('rsa', { modulusLength }))
export const ecKey = (kid = 'ec') => keyPair(kid, generateKeyPairSync('ec', { namedCurve: 'P-256' }))
export const edKey = (kid = 'ed') => keyPair(kid, generateKeyPairSync('ed25519'))

export type KeyPair = { readonly kid: string; readonly jwk: JsonWebKey; readonly publicJwk: JsonWebKey }

function keyPair(kid: string, pair: { privateKey: KeyObject; publicKey: KeyObject }): KeyPair {
  const jwkOf = (key: KeyObject) => ({ ...key.export({ format: 'jwk' }), kid })
  return { kid, jwk: jwkOf(pair.privateKey), publicJwk: jwkOf(pair.publicKey) }
}

/** An entry of AUTH_JWT_KEYS that signs, and one that only verifies. */
export const signing = ({ jwk }: KeyPair) => ({ ...jwk, key_ops: ['sign', 'verify'] })
export const verifying = ({ jwk }: KeyPair) => ({ ...jwk, key_ops: ['verify'] })
