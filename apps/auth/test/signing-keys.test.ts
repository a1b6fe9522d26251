import { generateKeyPairSync } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { readConfig } from '../src/config/read-config.js'
import { createKeyService } from '../src/keys/create-keys.js'
import { aUser, expectError, get, PASSWORD, post } from './support/api.js'
import {
  headerOf,
  keyServers,
  kidsOf,
  operatorOf,
  published,
  statusWith,
  tokenFrom,
} from './support/key-servers.js'
import { serviceToken } from './support/tokens.js'

const MINUTE = 60_000

const { start, replicaOf, closeAll } = keyServers()
afterEach(closeAll)

describe('a server without AUTH_JWT_KEYS', () => {
  it('signs with an RS256 key of its own, which it publishes', async () => {
    const server = await start({ AUTH_JWT_SIGNING_ALGORITHM: '' })
    const [key] = await published(server)
    expect(key).toEqual({
      kid: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      alg: 'RS256',
      kty: 'RSA',
      use: 'sig',
      key_ops: ['verify'],
      n: expect.any(String) as unknown,
      e: 'AQAB',
    })
    const { access_token: token } = await aUser(server)
    expect(headerOf(token)).toEqual({ alg: 'RS256', typ: 'JWT', kid: key?.kid })
    expect(await statusWith(server, token)).toBe(200)
    expect(await kidsOf(server)).toEqual([key?.kid])
  })

  it('makes one key even if many replicas start at once', async () => {
    const server = await start()
    // Each has its own copy of the keys, as separate processes do.
    const replicas = Array.from({ length: 12 }, () => operatorOf(server))
    const seen = await Promise.all(replicas.map((replica) => replica.ensure()))
    expect(new Set(seen.flat().map(({ kid }) => kid)).size).toBe(1)
    expect(await kidsOf(server)).toEqual([seen[0]?.[0]?.kid])
    const { rows } = await server.context.db.query('select kid from signing_keys')
    expect(rows).toHaveLength(1)
  })

  it('keeps the private key sealed: no part of it is in the database', async () => {
    const server = await start()
    await published(server)
    const { rows } = await server.context.db.query<{ text: string }>(
      'select s::text as text from signing_keys s',
    )
    expect(rows[0]?.text).toContain('v1.')
    expect(rows[0]?.text).not.toMatch(/"d"|kty|crv/)
  })

  it('still accepts tokens signed with AUTH_JWT_SECRET', async () => {
    const server = await start()
    expect((await get(server, '/admin/users', { token: serviceToken() })).status).toBe(200)
  })

  it('signs with AUTH_JWT_SECRET when set to HS256, and still accepts and publishes its earlier keys', async () => {
    const server = await start()
    const user = await aUser(server)
    const secretly = await replicaOf(server, { AUTH_JWT_SIGNING_ALGORITHM: 'HS256', AUTH_JWT_KEY_ID: 'main' })
    expect(headerOf(await tokenFrom(secretly, user.email))).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'main' })
    expect(await statusWith(secretly, user.access_token)).toBe(200)
    expect(await kidsOf(secretly)).toEqual(await kidsOf(server))
    await expect(operatorOf(secretly).rotate('ES256', 'after_delay')).rejects.toThrow(/HS256/)
  })

  it('makes no key if AUTH_JWT_SECRET signs from the beginning', async () => {
    const server = await start({ AUTH_JWT_SIGNING_ALGORITHM: 'HS256' })
    await aUser(server)
    expect(await published(server)).toEqual([])
  })

  it('is overridden by AUTH_JWT_KEYS: keys in the database then neither sign nor verify', async () => {
    const server = await start()
    const user = await aUser(server)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'mine', key_ops: ['sign', 'verify'] }
    const configured = await replicaOf(server, { AUTH_JWT_KEYS: JSON.stringify([jwk]) })
    expect(await kidsOf(configured)).toEqual(['mine'])
    expect(headerOf(await tokenFrom(configured, user.email)).kid).toBe('mine')
    expectError(await get(configured, '/user', { token: user.access_token }), 403, 'bad_jwt')
    await expect(operatorOf(configured).rotate('ES256', 'after_delay')).rejects.toThrow(/AUTH_JWT_KEYS/)
  })
})

describe('a changed AUTH_JWT_SECRET', () => {
  const OTHER = 'another-secret-9876543210-zyxwvutsrqponmlkjihgfedcba'

  it('makes a new key; keys it cannot open are neither published nor accepted, and are logged by name', async () => {
    const server = await start()
    const user = await aUser(server)
    const old = headerOf(user.access_token).kid ?? ''
    server.clock.advance(MINUTE)
    const changed = await replicaOf(server, { AUTH_JWT_SECRET: OTHER })
    const [made, ...others] = await kidsOf(changed)
    expect(others).toEqual([])
    expect(made).not.toBe(old)
    expectError(await get(changed, '/user', { token: user.access_token }), 403, 'bad_jwt')
    expect(headerOf(await tokenFrom(changed, user.email)).kid).toBe(made)
    expect(changed.lines).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        kid: old,
        msg: expect.stringContaining('AUTH_JWT_SECRET') as unknown,
      }),
    )
    const listed = await operatorOf(changed).list()
    expect(listed.map(({ kid, readable }) => [kid, readable])).toEqual([
      [old, false],
      [made, true],
    ])
    // The servers that still have the old secret continue as if nothing had happened.
    expect(await kidsOf(server)).toEqual([old])
    await expect(operatorOf(changed).retire(old, { force: false })).rejects.toThrow(
      /another AUTH_JWT_SECRET .* Use --force/,
    )
    expect(await kidsOf(server)).toEqual([old])
    await operatorOf(changed).retire(old, { force: true })
  })
})

describe('someone who can write to the database', () => {
  it('cannot add a key: neither unsealed, nor sealed with another secret, nor under another name', async () => {
    const server = await start()
    const [genuine] = await kidsOf(server)
    const { db, config, stores, observer } = server.context
    const foreign = createKeyService({
      config: { ...config, jwtSecret: 'the attacker knows this one, not the other' },
      db,
      store: stores.signingKeys,
      observer,
      now: server.clock.now,
    })
    await foreign.ensure()
    await db.query(
      `insert into signing_keys (kid, alg, sealed_key, token_seconds, created_at, activates_at)
       select 'renamed', alg, sealed_key, token_seconds, created_at, activates_at from signing_keys where kid = $1`,
      [genuine],
    )
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'plain', alg: 'ES256' }
    await db.query(
      `insert into signing_keys (kid, alg, sealed_key, token_seconds, created_at, activates_at)
       values ('plain', 'ES256', $1, 3600, now(), now())`,
      [JSON.stringify(jwk)],
    )
    expect(await kidsOf(server)).toEqual([genuine])
    expect(await kidsOf(await replicaOf(server))).toEqual([genuine])
    expect((await operatorOf(server).list()).filter(({ readable }) => readable)).toHaveLength(1)
  })
})

describe('while the keys cannot be read', () => {
  it('a server publishes and accepts the keys it knows, and signs nothing', async () => {
    const server = await start()
    const user = await aUser(server)
    const before = await kidsOf(server)
    const { db } = server.context
    await db.query('alter table signing_keys rename to elsewhere')
    expect(await kidsOf(server)).toEqual(before)
    expect(await statusWith(server, user.access_token)).toBe(200)
    const refused = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: PASSWORD,
    })
    expect(refused.status).toBeGreaterThanOrEqual(500)
    await db.query('alter table elsewhere rename to signing_keys')
    await tokenFrom(server, user.email)
  })
})

describe('the settings', () => {
  it('must leave time for a new key to reach every copy of the JWK Set', async () => {
    const { context } = await start()
    const env = {
      AUTH_SITE_URL: 'https://app.example.com',
      AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: context.config.databaseUrl,
      AUTH_JWT_SECRET: context.config.jwtSecret,
      AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
    }
    expect(() => readConfig({ ...env, AUTH_JWT_KEY_ACTIVATION_DELAY: '10m' })).toThrow(
      /AUTH_JWT_KEY_ACTIVATION_DELAY must be at least 640s/,
    )
    expect(() => readConfig({ ...env, AUTH_JWT_SIGNING_ALGORITHM: 'none' })).toThrow(
      /AUTH_JWT_SIGNING_ALGORITHM/,
    )
    expect(() => readConfig({ ...env, AUTH_JWT_VALID_METHODS: 'HS256' })).toThrow(
      /AUTH_JWT_VALID_METHODS must include RS256/,
    )
  })
})
