import { describe, expect, it } from '@jest/globals'
import { clientNetwork } from '@signet/rate-limits/network'
import { useOAuth } from './support/use-oauth.js'

// The Redis of the whole test run counts the limits, so every test uses a different address.
const { harness, oauth } = useOAuth({
  env: {
    WEBHOOKS_RATE_LIMITS_ENABLED: 'true',
    WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: 'svcl_resourceserver',
    WEBHOOKS_TRUST_PROXY_HOPS: '1',
    WEBHOOKS_RATE_LIMIT_REGISTER: '3',
    WEBHOOKS_RATE_LIMIT_AUTHORIZE: '3',
    WEBHOOKS_RATE_LIMIT_TOKEN: '8',
    WEBHOOKS_RATE_LIMIT_REVOKE: '3',
    WEBHOOKS_RATE_LIMIT_CLIENT_FAILURES: '3',
    WEBHOOKS_RATE_LIMIT_LOGIN: '8',
    WEBHOOKS_RATE_LIMIT_PERSONAL_TOKENS: '3',
    WEBHOOKS_RATE_LIMIT_BEARER_FAILURES: '3',
  },
})

let last = Math.floor(Math.random() * 2 ** 31)
/** An address in a network that no other test uses. */
const address = () => {
  last += 1
  return `2001:db8:${(last >>> 16).toString(16)}:${(last & 0xffff).toString(16)}::1`
}
const from = (ip: string) => ({ 'x-forwarded-for': ip })

async function statuses(count: number, request: () => Promise<{ status: number }>): Promise<number[]> {
  const seen: number[] = []
  for (let index = 0; index < count; index += 1) seen.push((await request()).status)
  return seen
}

const form = (path: string, fields: Record<string, string>, ip: string) =>
  oauth.json(path, { method: 'POST', headers: from(ip), body: new URLSearchParams(fields) })

describe('limits of the OAuth endpoints', () => {
  it.each([
    ['registration', '/oauth/register', 3, 400],
    ['the token endpoint', '/oauth/token', 8, 400],
    ['revocation', '/oauth/revoke', 3, 400],
  ])('%s, per address, with Retry-After and CORS', async (_, path, limit, status) => {
    const ip = address()
    const request = () => oauth.json(path, { method: 'POST', headers: from(ip) })
    expect(await statuses(limit, request)).toEqual(Array.from({ length: limit }, () => status))
    const refused = await request()
    expect([refused.status, refused.body['error']]).toEqual([429, 'too_many_requests'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
    expect((await oauth.json(path, { method: 'OPTIONS', headers: from(ip) })).status).toBe(204)
    expect((await oauth.json(path, { method: 'POST', headers: from(address()) })).status).toBe(status)
  })

  it('count an IPv6 network as one address, because its owner has them all', async () => {
    const ip = address()
    const fromHost = (host: number) =>
      form('/oauth/revoke', { token: 'x' }, ip.replace(/1$/, host.toString(16)))
    for (const host of [1, 2, 3]) expect((await fromHost(host)).status).toBe(401)
    expect((await fromHost(4)).status).toBe(429)
  })

  it('introspection, which shares the budget of revocation', async () => {
    const ip = address()
    expect(await statuses(2, () => form('/oauth/introspect', { token: 'x' }, ip))).toEqual([401, 401])
    expect(await statuses(2, () => form('/oauth/revoke', { token: 'x' }, ip))).toEqual([401, 429])
    expect((await form('/oauth/introspect', { token: 'x' }, ip)).status).toBe(429)
  })

  it('the authorization endpoint, as a page', async () => {
    const ip = address()
    const request = () =>
      fetch(`${harness.base}/oauth/authorize`, { headers: { ...from(ip), accept: 'text/html' } })
    expect(await statuses(3, request)).toEqual([400, 400, 400])
    const refused = await request()
    expect([refused.status, refused.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.text()).toMatch(/You can try again in \d+ minutes\./)
  })

  it('failed client authentications, per client and address; a right one still passes', async () => {
    const ip = address()
    const registered = await oauth.json<{ client_id: string; client_secret: string }>('/oauth/register', {
      method: 'POST',
      headers: { ...from(ip), 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] }),
    })
    const { client_id, client_secret } = registered.body
    const wrong = () => form('/oauth/token', { client_id, client_secret: 'wrong', grant_type: 'x' }, ip)
    expect(await statuses(4, wrong)).toEqual([401, 401, 401, 429])
    const right = await form('/oauth/token', { client_id, client_secret, grant_type: 'x' }, ip)
    expect(right.body['error']).toBe('unsupported_grant_type')
    expect((await form('/oauth/token', { client_id: 'svcl_other', grant_type: 'x' }, ip)).status).toBe(401)
  })
})

describe('limits of returns from the sign-in page', () => {
  it('are limited per address', async () => {
    const ip = address()
    const { browser, redirect } = await oauth.begun()
    const back = new URL(new URL(redirect.location ?? '').searchParams.get('redirect_to') ?? '')
    back.searchParams.set('code', 'wrong')
    const request = () => browser.get(back.href, from(ip))
    const asked = harness.identity.asked.length
    expect(await statuses(9, request)).toEqual([...Array.from({ length: 8 }, () => 400), 429])
    expect(harness.identity.asked).toHaveLength(asked + 8)
  })

  it('that this browser did not begin count for nobody: another site cannot use the limit up', async () => {
    const ip = address()
    const asked = harness.identity.asked.length
    const request = () =>
      fetch(`${harness.base}/sign-in/callback?code=x&state=y`, {
        headers: { ...from(ip), accept: 'text/html' },
      })
    expect(await statuses(9, request)).toEqual(Array.from({ length: 9 }, () => 400))
    expect(harness.identity.asked).toHaveLength(asked)
  })
})

describe('limits of Bearer tokens', () => {
  it('invalid ones per address; a good token still works from there', async () => {
    const ip = address()
    const user = harness.identity.addUser()
    const created = await oauth.json<{ token: string }>('/account/tokens', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${harness.identity.jwtFor(user)}`,
        'content-type': 'application/json',
      },
      body: '{"name":"x"}',
    })
    const request = (token: string) =>
      oauth.json('/v1/webhooks', { headers: { ...from(ip), authorization: `Bearer ${token}` } })
    expect(await statuses(3, () => request('sva_wrong'))).toEqual([401, 401, 401])
    const refused = await request('sva_wrong')
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: { code: 'too_many_requests', message: expect.any(String) as unknown } },
    ])
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    expect((await request(created.body.token)).status).toBe(200)
  })

  it('creations of personal tokens per account, with Retry-After', async () => {
    const user = harness.identity.addUser()
    const create = (body: string) =>
      oauth.json('/account/tokens', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${harness.identity.jwtFor(user)}`,
          'content-type': 'application/json',
        },
        body,
      })
    await create('{"name":""}')
    expect(await statuses(4, () => create('{"name":"x"}'))).toEqual([201, 201, 201, 429])
    expect(Number((await create('{"name":"x"}')).headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

it('counts under the prefix of the deployment, so that two at one Redis share no limit', async () => {
  const ip = address()
  await oauth.json('/oauth/register', { method: 'POST', headers: from(ip) })
  const { redis } = harness.ctx
  const keys = await redis.keys(`*${clientNetwork(ip)}*`)
  expect(keys.length).toBeGreaterThan(0)
  expect(keys.filter((key) => !key.startsWith(`${harness.ctx.config.queuePrefix}:limit:`))).toEqual([])
})
