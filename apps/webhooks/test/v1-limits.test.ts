import { describe, expect, it } from '@jest/globals'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi({
  env: () => ({
    WEBHOOKS_RATE_LIMITS_ENABLED: 'true',
    WEBHOOKS_RATE_LIMIT_V1: '12',
    WEBHOOKS_RATE_LIMIT_V1_WRITES: '8',
    WEBHOOKS_RATE_LIMIT_TEST_EVENTS: '2',
    WEBHOOKS_RATE_LIMIT_BEARER_FAILURES: '1000',
  }),
})

const limited = { error: { code: 'too_many_requests', message: expect.any(String) as unknown } }

type Reply = Awaited<ReturnType<typeof api.call>>

/**
 * Repeats a request until it is refused, which must happen after as many requests as the limit per minute allows. Redis counts by its own
 * clock: on a busy machine, some of them are allowed again while the requests are made.
 */
async function untilRefused(limit: number, ask: () => Promise<Reply>, expected: number): Promise<Reply> {
  const startedAt = performance.now()
  let allowed = 0
  let reply = await ask()
  for (; reply.status === expected; allowed += 1) reply = await ask()
  const cameBack = Math.floor((performance.now() - startedAt) / (60_000 / limit))
  expect(allowed).toBeGreaterThanOrEqual(limit)
  expect(allowed).toBeLessThanOrEqual(limit + cameBack)
  expect(reply.status).toBe(429)
  return reply
}

describe('limits of /v1', () => {
  it('hold per account: the other accounts go on', async () => {
    const { token } = await api.anAccount()
    const list = () => api.call('GET', '/v1/webhooks', { token })
    const refused = await untilRefused(12, list, 200)
    expect(refused.body).toEqual(limited)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const { token: other } = await api.anAccount()
    expect((await api.call('GET', '/v1/webhooks', { token: other })).status).toBe(200)
  })

  it('are tighter for writes, which reading does not use up', async () => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 3; i++) await api.call('GET', '/v1/webhooks', { token })
    await untilRefused(8, () => api.call('DELETE', '/v1/webhooks/1', { token }), 404)
  })

  it('hold for test events per endpoint, after it is known whose it is', async () => {
    const { token } = await api.anAccount()
    const [one, other] = [await createEndpoint(api, token), await createEndpoint(api, token)]
    const test = async (id: string) => (await api.call('POST', `/v1/webhooks/${id}/test`, { token })).status
    expect([await test(one.id), await test(one.id), await test(one.id)]).toEqual([200, 200, 429])
    const stranger = await api.anAccount()
    expect((await api.call('POST', `/v1/webhooks/${one.id}/test`, { token: stranger.token })).status).toBe(
      404,
    )
    expect(await test(other.id)).toBe(200)
  })

  it('are counted after authentication: an invalid token is 401 and uses up nothing', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await api.call('GET', '/v1/webhooks', { token: 'x' })).status),
    )
    expect(new Set(statuses)).toEqual(new Set([401]))
  })
})
