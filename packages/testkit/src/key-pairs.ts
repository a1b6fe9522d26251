import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'

/** A new key pair as JWKs. */
export const rsaKey = (kid = 'rsa', modulusLength = 2048) =>
  keyPair(kid, generateKeyPairSync('rsa', { modulusLength }))
export const ecKey = (kid = 'ec') => keyPair(kid, generateKeyPairSync('ec', { namedCurve: 'P-256' }))
export const edKey = (kid = 'ed') => keyPair(kid, generateKeyPairSync('ed25519'))

/** A private JWK and its public half, both with the `kid`. */
export type KeyPair = { readonly kid: string; readonly jwk: JsonWebKey; readonly publicJwk: JsonWebKey }

function keyPair(kid: string, pair: { privateKey: KeyObject; publicKey: KeyObject }): KeyPair {
  const jwkOf = (key: KeyObject) => ({ ...key.export({ format: 'jwk' }), kid })
  return { kid, jwk: jwkOf(pair.privateKey), publicJwk: jwkOf(pair.publicKey) }
}
