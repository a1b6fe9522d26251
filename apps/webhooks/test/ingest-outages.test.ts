import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freezeTimeouts, startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { aNotice, eventRows, queuedEvents, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

let redis: PrivateRedis
beforeAll(async () => {
  redis = await startPrivateRedis()
})

const api = useApi({
  env: () => ({ WEBHOOKS_REDIS_URL: redis.url, WEBHOOKS_RATE_LIMITS_ENABLED: 'true' }),
})

// Removed after the service has stopped, which would otherwise try to reconnect.
afterAll(() => redis.remove())

const ingest = (accountId: string) =>
  api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })

describe('without Redis', () => {
  it('ingest and test events are answered all the same, at once, and their rows are there', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await redis.kill('SIGKILL')
    await waitFor(() => api.service.ctx.redis.status !== 'ready')
    const frozen = freezeTimeouts()
    try {
      const [notice, test] = await Promise.all([
        ingest(accountId),
        api.call('POST', `/v1/webhooks/${id}/test`, { token }),
      ])
      expect([notice.status, test.status, test.body['queued']]).toEqual([202, 200, true])
    } finally {
      frozen.thaw()
    }
    expect((await eventRows(api, accountId)).map(({ state }) => state)).toEqual(['queued', 'queued'])
    await waitFor(() => api.lines.some(({ msg }) => msg === 'events left to the sweeper'))
  })

  it('and after it is back, events reach the queue again', async () => {
    const { accountId } = await api.anAccount()
    redis = await redis.restart()
    // Events that come before the service is connected again are left to the sweeper.
    const ingested = new Set<string>()
    await waitFor(
      async () => {
        const { event_id } = (await ingest(accountId)).body as { event_id: string }
        ingested.add(event_id)
        return (await queuedEvents(api)).some(({ eventId }) => ingested.has(eventId))
      },
      { describe: 'an event in the queue' },
    )
  })
})

describe('with a Redis that hangs', () => {
  it('a first request waits a second, and those after it do not wait', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await waitFor(() => api.service.ctx.redis.status === 'ready')
    process.kill(redis.pid, 'SIGSTOP')
    const frozen = freezeTimeouts()
    try {
      const list = () => api.call('GET', '/v1/webhooks', { token })
      const first = list()
      await waitFor(() => frozen.pendingMs().includes(1000), { describe: 'a time limit of a second' })
      frozen.advance(1000)
      expect((await first).status).toBe(200)
      expect((await list()).status).toBe(200)
      expect((await api.call('POST', `/v1/webhooks/${id}/test`, { token })).status).toBe(200)
      expect((await ingest(accountId)).status).toBe(202)
    } finally {
      frozen.thaw()
      process.kill(redis.pid, 'SIGCONT')
    }
  })
})

describe('a service that never saw a Redis', () => {
  const api = useApi({ env: () => ({ WEBHOOKS_REDIS_URL: 'redis://127.0.0.1:1' }) })

  it('starts, takes endpoints and recordings, and stops', async () => {
    const { accountId, token } = await api.anAccount()
    await createEndpoint(api, token)
    const reply = await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
    expect(reply.status).toBe(202)
    await api.close()
  })
})
