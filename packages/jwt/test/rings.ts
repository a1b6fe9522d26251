import { expect } from '@jest/globals'
import {
  importJwks,
  importSecret,
  JwtError,
  type JwtErrorReason,
  type JwtKey,
  KeySet,
  type KeySource,
  type NamedKey,
  verifyJwt,
} from '../src/index.js'
import { ecKey, edKey, rejectionOf, rsaKey, SECRET, type TestKey } from './keys.js'

const NOW = new Date('2026-05-01T12:00:00Z')
export const SECONDS = NOW.getTime() / 1000
export const now = (): Date => NOW
export const claims = {
  iss: 'https://id.example',
  sub: 'u1',
  aud: 'authenticated',
  iat: SECONDS,
  exp: SECONDS + 3600,
}

export const rsa = rsaKey()
export const ec = ecKey()
export const ed = edKey()

type Secret = { secret?: string; keyId?: string }
const main = { keyId: 'main' }

/** The keys of an issuer: a secret, and key pairs. `signer`, if given, signs instead of the secret. */
export function ringOf(
  signer?: TestKey,
  others: readonly TestKey[] = [],
  { secret = SECRET, keyId }: Secret = {},
): Ring {
  const keys = [...(signer ? [signer] : []), ...others].map(namedKey)
  const secretKey = importSecret(Buffer.from(secret), keyId)
  return Object.assign(new KeySet(keys, { secret: secretKey }), {
    signingKey: signer ? namedKey(signer) : secretKey,
  })
}
export type Ring = KeySet & { readonly signingKey: JwtKey }

const namedKey = ({ alg, kid, publicKey, privateKey }: TestKey): NamedKey => ({
  alg,
  kid,
  verifyKey: publicKey,
  signKey: privateKey,
})

/** A ring per signing algorithm, created on each access; the asymmetric ones hold the same secret and all three key pairs. */
export const rings = {
  get HS256() {
    return ringOf(undefined, [], main)
  },
  get RS256() {
    return ringOf(rsa, [ec, ed], main)
  },
  get ES256() {
    return ringOf(ec, [rsa, ed], main)
  },
  get EdDSA() {
    return ringOf(ed, [rsa, ec], main)
  },
}

/** The keys as a verifier reads them from a published JWK set. */
export const publicSetOf = (...jwks: unknown[]): KeySet => new KeySet(importJwks(jwks).keys)

export async function expectRefused(
  reason: JwtErrorReason,
  token: string,
  ring: KeySource = rings.RS256,
): Promise<void> {
  const error = await rejectionOf(verifyJwt(ring, token, { now }))
  expect(error).toBeInstanceOf(JwtError)
  expect(error).toMatchObject({ reason })
}
