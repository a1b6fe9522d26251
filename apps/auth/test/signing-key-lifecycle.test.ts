import { afterEach, describe, expect, it } from '@jest/globals'
import { importJwks, KeySet, verifyJwt } from '@signet/jwt'
import { aUser, expectError, get } from './support/api.js'
import {
  headerOf,
  keyServers,
  kidsOf,
  operatorOf,
  published,
  statusWith,
  tokenFrom,
} from './support/key-servers.js'
import type { TestServer } from './support/server.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const { start, replicaOf, closeAll } = keyServers()
afterEach(closeAll)

/** The JWK Set as another service keeps it. */
const copyOf = async (server: TestServer) => new KeySet(importJwks(await published(server)).keys)

describe('rotation', () => {
  it('publishes first, signs after the delay, and drops the old key after its last token expires', async () => {
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

  it('with default timing never breaks a token that another service checks against the JWK Set', async () => {
    const server = await start()
    const { email } = await aUser(server)
    // The slowest verifier: it keeps its copy for as long as the header allows, and never fetches in between.
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

  it('reaches replicas without a restart, and no token signed with the new key is refused meanwhile', async () => {
    const server = await start()
    const user = await aUser(server)
    // This replica reads the keys when it starts, and does not read them again by itself before its interval is over.
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

  it('is refused while another one is pending', async () => {
    const operator = operatorOf(await start())
    await operator.ensure()
    const next = await operator.rotate('ES256', 'after_delay')
    await expect(operator.rotate('ES256', 'at_once')).rejects.toThrow(`${next.kid} will sign from`)
  })

  it('by many operators in parallel adds one key', async () => {
    const operator = operatorOf(await start())
    await operator.ensure()
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () => operator.rotate('ES256', 'after_delay')),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await operator.list()).map(({ state }) => state)).toEqual(['signing', 'next'])
  })

  it('refuses an algorithm that AUTH_JWT_VALID_METHODS does not list', async () => {
    const operator = operatorOf(await start({ AUTH_JWT_VALID_METHODS: 'ES256' }))
    await expect(operator.rotate('RS256', 'after_delay')).rejects.toThrow(/AUTH_JWT_VALID_METHODS/)
  })

  it('keeps the old key as long as the longest-lived token of any replica', async () => {
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
  it('is refused at once, even for tokens that have already been verified', async () => {
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

  it('is never the signing key', async () => {
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

  it('must have no live tokens, unless forced', async () => {
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

  it('that was about to take over leaves the current key signing', async () => {
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
