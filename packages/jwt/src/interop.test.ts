import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  jwtVerify,
  SignJWT,
} from 'jose'
import { SECRET } from '../test/keys.js'
import { type JwtClaims, KeyRing, PublicKeySet, signJwt, verifyJwt } from './index.js'

// jose shares no code with what we use, and made the keys here as well.

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
  const ring = KeyRing.create({ secret: SECRET, keyId: 'main' })

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
    const { privateKey } = await generateKeyPair(alg, { extractable: true })
    const jwk = { ...(await exportJWK(privateKey)), kid: `jose-${alg}`, key_ops: ['sign'] }
    return { privateKey, ring: KeyRing.create({ secret: SECRET, keys: JSON.stringify([jwk]) }) }
  }

  it('jose accepts our tokens with the key set we publish', async () => {
    const { ring } = await setUp()
    const keySet = createLocalJWKSet(JSON.parse(JSON.stringify(ring.publicJwks())) as JSONWebKeySet)
    const { payload, protectedHeader } = await jwtVerify(await signJwt(ring, claims), keySet)
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg, typ: 'JWT', kid: `jose-${alg}` })
  })

  it('we accept tokens of jose, by key ring and by published key set', async () => {
    const { privateKey, ring } = await setUp()
    const token = await new SignJWT(claims).setProtectedHeader({ alg, kid: `jose-${alg}` }).sign(privateKey)
    const published = PublicKeySet.fromSettings(JSON.stringify(ring.publicJwks()))
    await expect(verifyJwt(ring, token)).resolves.toEqual(claims)
    await expect(verifyJwt(published, token, { requireExp: true })).resolves.toEqual(claims)
  })

  it('each published key imports for verification only', async () => {
    const { ring } = await setUp()
    const [jwk] = ring.publicJwks().keys
    const key = await importJWK(JSON.parse(JSON.stringify(jwk)) as Parameters<typeof importJWK>[0])
    expect(key).toMatchObject({ type: 'public', usages: ['verify'] })
    expect(createPublicKey({ key: { ...jwk, key_ops: undefined }, format: 'jwk' }).type).toBe('public')
  })
})
