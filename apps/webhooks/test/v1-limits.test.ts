import { describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
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

// Redis counts by its own clock: while a busy machine takes seconds over the requests, it allows more.
describe('limits of /v1', () => {
  it('hold per account: the other accounts go on', () =>
    holdsInSomeRun(async () => {
      const { token } = await api.anAccount()
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => api.call('GET', '/v1/webhooks', { token })),
      )
      const refused = replies.filter(({ status }) => status === 429)
      expect([refused.length, refused[0]?.body]).toEqual([8, limited])
      expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
      const { token: other } = await api.anAccount()
      expect((await api.call('GET', '/v1/webhooks', { token: other })).status).toBe(200)
    }))

  it('are tighter for writes, which reading does not use up', () =>
    holdsInSomeRun(async () => {
      const { token } = await api.anAccount()
      for (let i = 0; i < 3; i++) await api.call('GET', '/v1/webhooks', { token })
      const statuses = []
      for (let i = 0; i < 9; i++)
        statuses.push((await api.call('DELETE', '/v1/webhooks/1', { token })).status)
      expect(statuses).toEqual([...Array<number>(8).fill(404), 429])
    }))

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
