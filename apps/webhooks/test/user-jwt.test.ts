import { createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { JWT_SECRET } from './support/identity-double.js'
import { OAuthTester } from './support/oauth.js'
import { startHarness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

describe('user JWTs that are refused', () => {
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()

  const attempt = async (token: string) =>
    oauth.json('/account/tokens', { headers: { authorization: `Bearer ${token}` } })

  const withSecret = (header: object, claims: object, secret: string) => {
    const input = `${base64(header)}.${base64(claims)}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  it('alg none, foreign keys, key confusion, wrong claims', async () => {
    const user = harness.identity.addUser()
    const claims = harness.identity.claimsOf(user)
    const now = Math.floor(Date.now() / 1000)
    const header = { alg: 'HS256', typ: 'JWT' }
    const rs256 = `${base64({ alg: 'RS256' })}.${base64(claims)}`
    const signature = sign(
      'sha256',
      Buffer.from(rs256),
      createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    )
    const tokens = {
      good: withSecret(header, claims, JWT_SECRET),
      none: `${base64({ alg: 'none' })}.${base64(claims)}.`,
      unsigned: `${base64({ alg: 'None' })}.${base64(claims)}.x`,
      foreignSecret: withSecret(header, claims, 'another secret that is longer than 32 bytes'),
      publicKeyAsSecret: withSecret(header, claims, pem),
      rs256WithoutKey: `${rs256}.${signature.toString('base64url')}`,
      expired: withSecret(header, { ...claims, exp: now - 31 }, JWT_SECRET),
      withoutExpiry: withSecret(header, { ...claims, exp: undefined }, JWT_SECRET),
      wrongAudience: withSecret(header, { ...claims, aud: 'other' }, JWT_SECRET),
      serviceRole: withSecret(header, { ...claims, role: 'service_role' }, JWT_SECRET),
      anonRole: withSecret(header, { ...claims, role: 'anon' }, JWT_SECRET),
      noRole: withSecret(header, { ...claims, role: undefined }, JWT_SECRET),
      anonymous: withSecret(header, { ...claims, is_anonymous: true }, JWT_SECRET),
      subject: withSecret(header, { ...claims, sub: 'not-a-uuid' }, JWT_SECRET),
    }
    const answers: Record<string, number> = {}
    for (const [name, token] of Object.entries(tokens)) answers[name] = (await attempt(token)).status
    expect(answers).toEqual({
      ...Object.fromEntries(Object.keys(tokens).map((name) => [name, 401])),
      good: 200,
    })
  })

  it('are none of those that the key set of the identity server verifies, with nothing configured', async () => {
    const service = await startHarness({ env: { WEBHOOKS_IDENTITY_JWT_SECRET: '' } })
    try {
      const client = new OAuthTester(service)
      const ask = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await client.json('/account/tokens', { headers })).status
      }
      const claims = service.identity.claimsOf(service.identity.addUser())
      const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'theirs', alg: 'RS256', use: 'sig' }
      service.identity.publishKeys(jwk)
      const input = `${base64({ alg: 'RS256', kid: 'theirs' })}.${base64(claims)}`
      const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url')
      expect(await ask(`${input}.${signature}`)).toBe(200)
      expect(await ask(`${base64({ alg: 'RS256', kid: 'other' })}.${base64(claims)}.${signature}`)).toBe(401)
      for (const key of [JWT_SECRET, pem, JSON.stringify(jwk)])
        expect(await ask(withSecret({ alg: 'HS256', kid: 'theirs' }, claims, key))).toBe(401)
      const asked = service.identity.asked.filter(({ path }) => path === '/.well-known/jwks.json')
      expect(asked).toHaveLength(1)
    } finally {
      await service.close()
    }
  })

  it.each(['with', 'without'])(
    'HS256 made with a public key that is configured, %s a secret',
    async (secret) => {
      const kid = 'rsa-1'
      const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }
      const service = await startHarness({
        env: {
          WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS: JSON.stringify([jwk]),
          ...(secret === 'without' ? { WEBHOOKS_IDENTITY_JWT_SECRET: '' } : {}),
        },
      })
      try {
        const ask = async (token: string) =>
          (
            await new OAuthTester(service).json('/account/tokens', {
              headers: { authorization: `Bearer ${token}` },
            })
          ).status
        const claims = service.identity.claimsOf(service.identity.addUser())
        const input = `${base64({ alg: 'RS256', kid })}.${base64(claims)}`
        const signed = `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
        expect(await ask(signed)).toBe(200)
        expect(await ask(signed.replace(/^[^.]+/, base64({ alg: 'HS256', kid })))).toBe(401)
        const der = publicKey.export({ type: 'spki', format: 'der' }).toString('latin1')
        for (const key of [pem, pem.trim(), der, JSON.stringify(jwk), String(jwk.n)])
          for (const header of [{ alg: 'HS256', kid }, { alg: 'HS256' }])
            expect(await ask(withSecret(header, claims, key))).toBe(401)
      } finally {
        await service.close()
      }
    },
  )
})
