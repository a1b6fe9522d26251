import { describe, expect, it } from '@jest/globals'
import { ecKey, edKey, rsaKey } from '@signet/testkit/key-pairs'
import { importPrivateJwk } from './private-jwk.js'

const rsa = rsaKey()
const ec = ecKey()
const ed = edKey()
const REFUSED = new TypeError('the private part is not a valid key, or belongs to another public part')

describe('a key with a private part', () => {
  it.each([
    ['RS256', rsa],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('signs with %s; without one it only verifies', (alg, { kid, jwk, publicJwk }) => {
    expect(importPrivateJwk(jwk)).toMatchObject({ alg, kid, signKey: { type: 'private' } })
    expect(importPrivateJwk(publicJwk)).toMatchObject({ alg, kid, verifyKey: { type: 'public' } })
    expect(importPrivateJwk(publicJwk)).not.toHaveProperty('signKey')
  })

  it('may be a secret, which signs what it verifies', () => {
    const k = Buffer.from('a secret of more than thirty-two bytes').toString('base64url')
    const { alg, signKey, verifyKey } = importPrivateJwk({ kty: 'oct', kid: 'oct', k })
    expect(alg).toBe('HS256')
    expect(signKey).toBe(verifyKey)
  })

  it.each([
    ['of another RSA key', { ...rsaKey().jwk, n: rsa.jwk.n }],
    ['of another EC key', { ...ec.jwk, d: ecKey().jwk.d }],
    ['of another Ed25519 key', { ...ed.jwk, d: edKey().jwk.d }],
    ['that is no text', { ...rsa.jwk, d: 7 }],
  ])('%s is refused', (_, jwk) => {
    expect(() => importPrivateJwk(jwk)).toThrow(REFUSED)
  })
})
