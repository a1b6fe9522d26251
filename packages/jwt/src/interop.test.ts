import { createPublicKey, type JsonWebKey, KeyObject, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { SECRET } from '../test/keys.js'
import { publicSetOf, rings } from '../test/rings.js'
import { importJwk, type JwtClaims, KeySet, signJwt, verifyJwt } from './index.js'

// jose makes the keys. Our code signs EdDSA and RS256 with jose too, so node:crypto verifies all signatures as well.

const seconds = Math.floor(Date.now() / 1000)
const claims: JwtClaims = {
  iss: 'https://id.example',
  sub: 'u1',
  aud: 'authenticated',
  iat: seconds,
  exp: seconds + 600,
  app_metadata: { provider: 'email', note: 'grüße \u{1f511}' },
}
const secretBytes = Buffer.from(SECRET)

describe('HS256 and jose', () => {
  const ring = rings.HS256

  it('jose accepts our tokens', async () => {
    const { payload, protectedHeader } = await jwtVerify(await signJwt(ring, claims), secretBytes)
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'main' })
  })

  it('we accept tokens of jose', async () => {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secretBytes)
    await expect(verifyJwt(ring, token)).resolves.toEqual(claims)
  })
})

describe.each(['RS256', 'ES256', 'EdDSA'])('%s and jose', (alg) => {
  const setUp = async () => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    const jwk = { ...(await exportJWK(publicKey)), kid: `jose-${alg}` }
    const key = importJwk(jwk)
    const ring = Object.assign(new KeySet([key]), {
      signingKey: { ...key, signKey: KeyObject.from(privateKey) },
    })
    return { privateKey, jwk, ring }
  }

  it('node:crypto accepts our signature', async () => {
    const { ring, jwk } = await setUp()
    const [header, payload, signature = ''] = (await signJwt(ring, claims)).split('.')
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    const digest = alg === 'EdDSA' ? null : 'sha256'
    const bytes = Buffer.from(signature, 'base64url')
    const input = Buffer.from(`${header}.${payload}`)
    expect(verify(digest, input, { key, dsaEncoding: 'ieee-p1363' }, bytes)).toBe(true)
  })

  it('jose accepts our tokens with the key set it made', async () => {
    const { ring, jwk } = await setUp()
    const { payload, protectedHeader } = await jwtVerify(
      await signJwt(ring, claims),
      createLocalJWKSet({ keys: [jwk] }),
    )
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg, typ: 'JWT', kid: `jose-${alg}` })
  })

  it('we accept tokens of jose, by key ring and by published key set', async () => {
    const { privateKey, jwk, ring } = await setUp()
    const token = await new SignJWT(claims).setProtectedHeader({ alg, kid: `jose-${alg}` }).sign(privateKey)
    await expect(verifyJwt(ring, token)).resolves.toEqual(claims)
    await expect(verifyJwt(publicSetOf(jwk), token, { requireExp: true })).resolves.toEqual(claims)
  })
})
