import { createHmac, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, post, type ApiAnswer, type SignedUp } from './support/api.js'
import { JWT_SECRET, startServer, type TestServer } from './support/server.js'
import { claimsOf, rawToken, serviceToken, tokenOf } from './support/tokens.js'

type Alg = 'RS256' | 'ES256' | 'EdDSA'
/** One RSA key for all tests, because generating one may take a second. */
const { privateKey: RSA } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keyPair = (alg: Alg): KeyObject => {
  if (alg === 'RS256') return RSA
  return alg === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    : generateKeyPairSync('ed25519').privateKey
}
const jwk = (key: KeyObject, kid: string, ops: string[]) => ({
  ...key.export({ format: 'jwk' }),
  kid,
  key_ops: ops,
})
const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Record<string, unknown>

describe('access tokens', () => {
  let server: TestServer
  let user: SignedUp
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_JWT_SIGNING_ALGORITHM: 'HS256',
      AUTH_JWT_KEY_ID: 'main',
    })
    user = await aUser(server, { data: { a: 1 } })
  })
  afterAll(() => server.close())
  const asUser = (token: string): Promise<ApiAnswer> => get(server, '/user', { token })

  it('carry exactly the claims of docs/specification.md#claims', () => {
    const now = server.clock.now().getTime() / 1000
    expect(headerOf(user.access_token)).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'main' })
    expect(claimsOf(user.access_token)).toEqual({
      iss: 'https://auth.example.com/auth/v1',
      sub: user.user.id,
      aud: 'authenticated',
      iat: now,
      exp: now + 3600,
      email: user.email,
      phone: '',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: {
        a: 1,
        sub: user.user.id,
        email: user.email,
        email_verified: true,
        phone_verified: false,
      },
      role: 'authenticated',
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: now }],
      session_id: expect.any(String) as unknown,
      is_anonymous: false,
    })
  })

  it('take issuer, audience, role and lifetime from the settings', async () => {
    const other = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_JWT_ISSUER: 'https://issuer.example',
      AUTH_JWT_AUD: 'people',
      AUTH_JWT_DEFAULT_GROUP_NAME: 'members',
      AUTH_JWT_EXP: '5m',
    })
    try {
      const { access_token: token, user: view, expires_in: life } = await aUser(other)
      expect(view).toMatchObject({ aud: 'people', role: 'members' })
      expect(life).toBe(300)
      const { iat = 0, ...claims } = claimsOf(token)
      expect(claims).toMatchObject({
        iss: 'https://issuer.example',
        aud: 'people',
        role: 'members',
        exp: iat + 300,
      })
      expect((await get(other, '/user', { token })).status).toBe(200)
    } finally {
      await other.close()
    }
  })

  it.each(['Bearer', 'bearer', 'BEARER'])('are accepted after the scheme %s', async (scheme) => {
    const answer = await get(server, '/user', {
      headers: { Authorization: `${scheme} ${user.access_token}` },
    })
    expect(answer.status).toBe(200)
  })

  it.each([undefined, '', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b'])(
    'are missing in the header %j: 401 no_authorization',
    async (header) => {
      const headers: Record<string, string> = header === undefined ? {} : { Authorization: header }
      expectError(await get(server, '/user', { headers }), 401, 'no_authorization', /Bearer token/)
    },
  )

  it('are refused with 403 bad_jwt when tampered with, foreign, unsigned or confused', async () => {
    const [header = '', payload = '', signature = ''] = user.access_token.split('.')
    const claims = claimsOf(user.access_token)
    const hmac = (text: string, secret: string) =>
      createHmac('sha256', secret).update(text).digest('base64url')
    const forged = Buffer.from(JSON.stringify({ ...claims, role: 'service_role' })).toString('base64url')
    const bad = [
      'garbage',
      `${header}.${forged}.${signature}`,
      `${header}.${payload}.${hmac(`${header}.${payload}`, 'another secret that is long enough!')}`,
      `${header}.${payload}.`,
      rawToken({ alg: 'none', typ: 'JWT' }, claims, ''),
      rawToken({ alg: 'none', typ: 'JWT' }, claims, 'AA'),
      rawToken({ alg: 'RS256', typ: 'JWT', kid: 'main' }, claims, 'AA'),
      rawToken({ alg: 'HS512', typ: 'JWT' }, claims, 'AA'),
    ]
    for (const token of bad)
      expectError(await asUser(token), 403, 'bad_jwt', /^invalid JWT: unable to parse or verify signature/)
  })

  it('are refused when expired or not yet valid, and accepted without exp', async () => {
    const claims = claimsOf(user.access_token)
    const now = server.clock.now().getTime() / 1000
    expectError(await asUser(tokenOf({ ...claims, exp: now })), 403, 'bad_jwt')
    expectError(await asUser(tokenOf({ ...claims, nbf: now + 1 })), 403, 'bad_jwt')
    const { exp: _, ...endless } = claims
    expect((await asUser(tokenOf(endless))).status).toBe(200)
  })

  it('are refused without a usable sub or session_id', async () => {
    const { sub: _, ...claims } = claimsOf(user.access_token)
    expectError(await asUser(tokenOf(claims)), 403, 'bad_jwt')
    expectError(await asUser(serviceToken()), 403, 'bad_jwt')
    expectError(await asUser(tokenOf({ ...claims, sub: 'me' })), 400, 'bad_jwt')
    expectError(await asUser(tokenOf({ ...claims, sub: randomUUID() })), 403, 'user_not_found')
    expectError(await asUser(tokenOf({ ...claims, sub: user.user.id, session_id: 'x' })), 403, 'bad_jwt')
    expectError(
      await asUser(tokenOf({ ...claims, sub: user.user.id, session_id: randomUUID() })),
      403,
      'session_not_found',
    )
  })

  it("do not open another user's session", async () => {
    const other = await aUser(server)
    const stolen = { ...claimsOf(other.access_token), session_id: claimsOf(user.access_token)['session_id'] }
    expectError(await asUser(tokenOf(stolen)), 403, 'session_not_found')
  })
})

describe('keys', () => {
  const servers: TestServer[] = []
  const start = async (keys: object[], env: Record<string, string> = {}) => {
    const server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_JWT_KEYS: JSON.stringify(keys),
      ...env,
    })
    servers.push(server)
    return server
  }
  afterAll(async () => {
    for (const server of servers) await server.close()
  })

  it.each(['RS256', 'ES256', 'EdDSA'] as const)(
    '%s signs, is published without private parts, and verifies',
    async (alg) => {
      const server = await start([jwk(keyPair(alg), 'k1', ['sign', 'verify'])])
      const user = await aUser(server)
      expect(headerOf(user.access_token)).toEqual({ alg, typ: 'JWT', kid: 'k1' })
      expect((await get(server, '/user', { token: user.access_token })).status).toBe(200)
      const { body } = await get(server, '/.well-known/jwks.json')
      const [key] = body['keys'] as Record<string, unknown>[]
      expect(key).toMatchObject({
        kid: 'k1',
        alg,
        use: 'sig',
        key_ops: ['verify'],
        kty: expect.any(String) as unknown,
      })
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret)
    },
  )

  it('rotate without downtime: the next key is published first, then signs; tokens of the old one stay valid', async () => {
    const [old, next] = [keyPair('ES256'), keyPair('RS256')]
    const before = await start([jwk(old, 'old', ['sign', 'verify']), jwk(next, 'next', ['verify'])])
    const user = await aUser(before)
    expect(headerOf(user.access_token)['kid']).toBe('old')
    const env = { DATABASE_URL: before.databaseUrl }
    const during = await start([jwk(old, 'old', ['verify']), jwk(next, 'next', ['sign', 'verify'])], env)
    expect((await get(during, '/user', { token: user.access_token })).status).toBe(200)
    const refreshed = await post(during, '/token?grant_type=refresh_token', {
      refresh_token: user.refresh_token,
    })
    expect(headerOf(String(refreshed.body['access_token']))['kid']).toBe('next')
    // The replica that still runs with the old settings already knows the next key.
    expect((await get(before, '/user', { token: String(refreshed.body['access_token']) })).status).toBe(200)
    const after = await start([jwk(next, 'next', ['sign', 'verify'])], env)
    expect((await get(after, '/user', { token: String(refreshed.body['access_token']) })).status).toBe(200)
    expectError(await get(after, '/user', { token: user.access_token }), 403, 'bad_jwt')
  })

  it('refuse a public key used as an HMAC secret, and a kid of another algorithm', async () => {
    const key = keyPair('RS256')
    const server = await start([jwk(key, 'k1', ['sign', 'verify'])])
    const { user } = await aUser(server)
    const claims = { sub: user.id, aud: 'authenticated' }
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    for (const kid of ['k1', 'unknown']) {
      const signingInput = rawToken({ alg: 'HS256', typ: 'JWT', kid }, claims, '').slice(0, -1)
      for (const secret of [pem, kid === 'k1' ? JWT_SECRET : 'another secret of enough length......'])
        expectError(
          await get(server, '/user', {
            token: `${signingInput}.${createHmac('sha256', secret).update(signingInput).digest('base64url')}`,
          }),
          403,
          'bad_jwt',
        )
    }
  })

  it('accept HS256 with the secret along with other keys, unless the methods exclude it', async () => {
    const keys = [jwk(keyPair('ES256'), 'k1', ['sign', 'verify'])]
    const open = await start(keys)
    const { user } = await aUser(open)
    const token = tokenOf({ sub: user.id, aud: 'authenticated' })
    expect((await get(open, '/user', { token })).status).toBe(200)
    const strict = await start(keys, { DATABASE_URL: open.databaseUrl, AUTH_JWT_VALID_METHODS: 'ES256' })
    expectError(await get(strict, '/user', { token }), 403, 'bad_jwt')
  })
})
