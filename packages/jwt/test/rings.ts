import { expect } from '@jest/globals'
import { JwtError, type JwtErrorReason, KeyRing, verifyJwt } from '../src/index.js'
import { ecKey, edKey, rejectionOf, rsaKey, SECRET, signing, type TestKey, verifying } from './keys.js'

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

const ringSignedBy = (signer: TestKey): KeyRing =>
  KeyRing.create({
    secret: SECRET,
    keyId: 'main',
    keys: JSON.stringify([rsa, ec, ed].map((key) => (key === signer ? signing(key) : verifying(key)))),
  })

/** Rings by the algorithm that signs, each made anew; the asymmetric ones hold the same secret and all three keys. */
export const rings = {
  get HS256() {
    return KeyRing.create({ secret: SECRET, keyId: 'main' })
  },
  get RS256() {
    return ringSignedBy(rsa)
  },
  get ES256() {
    return ringSignedBy(ec)
  },
  get EdDSA() {
    return ringSignedBy(ed)
  },
}

export async function expectRefused(
  reason: JwtErrorReason,
  token: string,
  ring: KeyRing = rings.RS256,
): Promise<void> {
  const error = await rejectionOf(verifyJwt(ring, token, { now }))
  expect(error).toBeInstanceOf(JwtError)
  expect(error).toMatchObject({ reason })
}
