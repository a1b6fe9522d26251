import { generateKeyPairSync } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { importJwks, KeySet, verifyJwt } from '@signet/jwt'
import { createKeyService } from '../src/keys/create-keys.js'
import { loadAuthConfig } from '../src/config/config.js'
import { aUser, expectError, get, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Every use looks for changes, as if some time had passed since the last one. */
const EAGER = { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_JWT_KEYS_REFRESH_INTERVAL: '0' }

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0).reverse()) await server.close()
})
async function start(env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startServer({ ...EAGER, ...env })
  servers.push(server)
  return server
}
/** Another process of the same service, with the clock of the first. */
async function replicaOf(server: TestServer, env: Record<string, string> = {}): Promise<TestServer> {
  const replica = await startServer(
    { ...EAGER, DATABASE_URL: server.databaseUrl, ...env },
    { now: server.clock.now },
  )
  servers.push(replica)
  return replica
}

/** What `auth keys` uses, at the server's time. */
function operatorOf({ context, clock }: TestServer) {
  const { config, db, stores, observer } = context
  return createKeyService({ config, db, store: stores.signingKeys, observer, now: clock.now })
}

type Jwk = Record<string, unknown> & { kid: string; alg: string }
const published = async (server: TestServer): Promise<Jwk[]> =>
  (await get(server, '/.well-known/jwks.json')).body['keys'] as Jwk[]
/** The JWK Set as another service keeps it. */
const copyOf = async (server: TestServer) => new KeySet(importJwks(await published(server)).keys)
const kidsOf = async (server: TestServer) => (await published(server)).map(({ kid }) => kid)
const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { alg: string; kid?: string }
async function tokenFrom(server: TestServer, email: string): Promise<string> {
  const { body, status } = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  expect(status).toBe(200)
  return String(body['access_token'])
}
const statusWith = async (server: TestServer, token: string) => (await get(server, '/user', { token })).status

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

  it('makes one key, however many replicas start at once', async () => {
    const server = await start()
    // Each with a copy of its own, as processes have.
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

  it('goes on accepting tokens signed with AUTH_JWT_SECRET', async () => {
    const server = await start()
    expect((await get(server, '/admin/users', { token: serviceToken() })).status).toBe(200)
  })

  it('signs with AUTH_JWT_SECRET where that is set, and still accepts and publishes its keys from before', async () => {
    const server = await start()
    const user = await aUser(server)
    const secretly = await replicaOf(server, { AUTH_JWT_SIGNING_ALGORITHM: 'HS256', AUTH_JWT_KEY_ID: 'main' })
    expect(headerOf(await tokenFrom(secretly, user.email))).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'main' })
    expect(await statusWith(secretly, user.access_token)).toBe(200)
    expect(await kidsOf(secretly)).toEqual(await kidsOf(server))
    await expect(operatorOf(secretly).rotate('ES256', 'after_delay')).rejects.toThrow(/HS256/)
  })

  it('makes no key where AUTH_JWT_SECRET signs from the beginning', async () => {
    const server = await start({ AUTH_JWT_SIGNING_ALGORITHM: 'HS256' })
    await aUser(server)
    expect(await published(server)).toEqual([])
  })

  it('gives way to AUTH_JWT_KEYS: then the keys of the database neither sign nor verify', async () => {
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

describe('rotation', () => {
  it('publishes first, signs after the delay, and drops the old key with its last token', async () => {
    const server = await start()
    const user = await aUser(server)
    const old = headerOf(user.access_token).kid ?? ''
    const next = await operatorOf(server).rotate('EdDSA', 'after_delay')
    expect(await kidsOf(server)).toEqual([old, next.kid])
    server.clock.advance(12 * MINUTE - 1)
    const last = await tokenFrom(server, user.email)
    expect(headerOf(last).kid).toBe(old)
    server.clock.advance(1)
    const young = await tokenFrom(server, user.email)
    expect(headerOf(young)).toEqual({ alg: 'EdDSA', typ: 'JWT', kid: next.kid })
    for (const token of [last, young]) expect(await statusWith(server, token)).toBe(200)
    server.clock.advance(HOUR)
    expect(await kidsOf(server)).toEqual([old, next.kid])
    server.clock.advance(12 * MINUTE)
    expect(await kidsOf(server)).toEqual([next.kid])
  })

  it('lets no token fail that another service checks with the JWK Set, at the default times', async () => {
    const server = await start()
    const { email } = await aUser(server)
    // The least that others do: they keep a copy for as long as its header allows, and never ask in between.
    let copy = await copyOf(server)
    let copiedAt = 0
    const live: string[] = []
    const signers = new Set<string | undefined>()
    for (let step = 0; step < 100; step += 1) {
      if (step === 16) await operatorOf(server).rotate('ES256', 'after_delay')
      if (step * 2 * MINUTE - copiedAt >= 10 * MINUTE) {
        copiedAt = step * 2 * MINUTE
        copy = await copyOf(server)
      }
      const token = await tokenFrom(server, email)
      signers.add(headerOf(token).kid)
      live.push(token)
      // An hour is thirty tokens: the oldest that is valid, one from the middle, and the new one.
      for (const checked of [live.at(-29), live.at(-15), token])
        if (checked) await verifyJwt(copy, checked, { now: server.clock.now, requireExp: true })
      server.clock.advance(2 * MINUTE)
    }
    expect(signers.size).toBe(2)
  })

  it('is taken over by replicas without a restart, and no token of the new key is refused meanwhile', async () => {
    const server = await start()
    const user = await aUser(server)
    // It looks at the keys when it starts, and by itself not again before its interval is over.
    const idle = await replicaOf(server, {
      AUTH_JWT_KEYS_REFRESH_INTERVAL: '60s',
      AUTH_JWT_KEY_ACTIVATION_DELAY: '1h',
    })
    await operatorOf(server).rotate('ES256', 'at_once')
    const token = await tokenFrom(server, user.email)
    expect(headerOf(token).kid).not.toBe(headerOf(user.access_token).kid)
    const statuses = await Promise.all(Array.from({ length: 5 }, () => statusWith(idle, token)))
    expect(statuses).toEqual([200, 200, 200, 200, 200])
  })

  it('waits for the one before it', async () => {
    const operator = operatorOf(await start())
    await operator.ensure()
    const next = await operator.rotate('ES256', 'after_delay')
    await expect(operator.rotate('ES256', 'at_once')).rejects.toThrow(`${next.kid} is to sign from`)
  })

  it('by many operators at once adds one key', async () => {
    const operator = operatorOf(await start())
    await operator.ensure()
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () => operator.rotate('ES256', 'after_delay')),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await operator.list()).map(({ state }) => state)).toEqual(['signing', 'next'])
  })

  it('refuses an algorithm that AUTH_JWT_VALID_METHODS leaves out', async () => {
    const operator = operatorOf(await start({ AUTH_JWT_VALID_METHODS: 'ES256' }))
    await expect(operator.rotate('RS256', 'after_delay')).rejects.toThrow(/AUTH_JWT_VALID_METHODS/)
  })

  it('keeps the old key for as long as the longest tokens of any replica', async () => {
    const server = await start()
    await published(server)
    const lasting = await replicaOf(server, { AUTH_JWT_EXP: '5h' })
    const user = await aUser(lasting)
    const next = await operatorOf(server).rotate('ES256', 'at_once')
    server.clock.advance(4 * HOUR)
    expect(await statusWith(server, user.access_token)).toBe(200)
    server.clock.advance(HOUR + 12 * MINUTE)
    expect(await kidsOf(server)).toEqual([next.kid])
  })
})

describe('a retired key', () => {
  it('is refused at once, even for tokens that were verified before', async () => {
    const server = await start()
    const user = await aUser(server)
    const old = headerOf(user.access_token).kid ?? ''
    expect(await statusWith(server, user.access_token)).toBe(200)
    const operator = operatorOf(server)
    await operator.rotate('ES256', 'at_once')
    expect(await statusWith(server, user.access_token)).toBe(200)
    await operator.retire(old, { force: true })
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'bad_jwt')
    expect(await kidsOf(server)).not.toContain(old)
    const { rows } = await server.context.db.query('select sealed_key from signing_keys where kid = $1', [
      old,
    ])
    expect(rows).toEqual([{ sealed_key: null }])
    await expect(operator.retire(old, { force: false })).resolves.toBeUndefined()
  })

  it('is never the one that signs', async () => {
    const server = await start()
    const operator = operatorOf(server)
    const [key] = await operator.ensure()
    const kid = key?.kid ?? ''
    await expect(operator.retire(kid, { force: true })).rejects.toThrow(`${kid} signs.`)
    const next = await operator.rotate('ES256', 'after_delay')
    await expect(operator.retire(kid, { force: true })).rejects.toThrow(`${kid} signs.`)
    server.clock.advance(10 * MINUTE)
    await expect(operator.retire(next.kid, { force: true })).rejects.toThrow(`${next.kid} is about to sign`)
  })

  it('keeps its tokens while they live, unless that is forced', async () => {
    const server = await start()
    const operator = operatorOf(server)
    const user = await aUser(server)
    const old = headerOf(user.access_token).kid ?? ''
    server.clock.advance(MINUTE)
    await operator.rotate('ES256', 'at_once')
    await expect(operator.retire(old, { force: false })).rejects.toThrow(/may be valid until .* Use --force/)
    server.clock.advance(HOUR + 12 * MINUTE)
    await operator.retire(old, { force: false })
    expect((await operator.list()).map(({ state }) => state)).toEqual(['retired', 'signing'])
  })

  it('that was to sign leaves signing to the one before', async () => {
    const server = await start()
    const operator = operatorOf(server)
    const [key] = await operator.ensure()
    const next = await operator.rotate('ES256', 'after_delay')
    await operator.retire(next.kid, { force: false })
    expect(await kidsOf(server)).toEqual([key?.kid])
    server.clock.advance(24 * HOUR)
    expect(headerOf((await aUser(server)).access_token).kid).toBe(key?.kid)
    await expect(operator.retire('unknown', { force: true })).rejects.toThrow('There is no key unknown')
  })
})

describe('another AUTH_JWT_SECRET', () => {
  const OTHER = 'another-secret-9876543210-zyxwvutsrqponmlkjihgfedcba'

  it('makes a new key; those it cannot open are neither published nor accepted, and the log names them', async () => {
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
    // The servers that still have the old one go on as if nothing had happened.
    expect(await kidsOf(server)).toEqual([old])
    await operatorOf(changed).retire(old, { force: false })
  })
})

describe('whoever can write to the database', () => {
  it('cannot add a key: not in the clear, not sealed with a key of their own, not under another name', async () => {
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
  it('a server publishes and accepts those it knows, and signs nothing', async () => {
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
    expect(() => loadAuthConfig({ ...env, AUTH_JWT_KEY_ACTIVATION_DELAY: '10m' })).toThrow(
      /AUTH_JWT_KEY_ACTIVATION_DELAY must be at least 640s/,
    )
    expect(() => loadAuthConfig({ ...env, AUTH_JWT_SIGNING_ALGORITHM: 'none' })).toThrow(
      /AUTH_JWT_SIGNING_ALGORITHM/,
    )
    expect(() => loadAuthConfig({ ...env, AUTH_JWT_VALID_METHODS: 'HS256' })).toThrow(
      /AUTH_JWT_VALID_METHODS must include RS256/,
    )
  })
})
