import { createPrivateKey, sign, verify, type KeyObject } from 'node:crypto'
import { importJwk, isJsonObject, type NamedKey } from '@signet/jwt'

const PROBE = Buffer.from('{}')

/** Imports a JWK, with the key that signs if it has one; throws a TypeError that says what is wrong with it. */
export function importPrivateJwk(jwk: unknown): NamedKey {
  const key = importJwk(jwk)
  if (key.alg === 'HS256') return { ...key, signKey: key.verifyKey }
  return isJsonObject(jwk) && Object.hasOwn(jwk, 'd') ? { ...key, signKey: importPrivateHalf(jwk, key) } : key
}

function importPrivateHalf(jwk: Record<string, unknown>, { alg, verifyKey }: NamedKey): KeyObject {
  const digest = alg === 'EdDSA' ? null : 'sha256'
  try {
    const key = createPrivateKey({ key: jwk as Record<string, string>, format: 'jwk' })
    // Only a signature that verifies proves that both halves belong together.
    if (verify(digest, PROBE, verifyKey, sign(digest, PROBE, key))) return key
  } catch {
    // Drop Node's error, because its message may quote the key.
  }
  throw new TypeError('the private part is not a valid key, or belongs to another public part')
}
