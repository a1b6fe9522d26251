import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { aNotice, eventRows, queuedEvents, subscribe, useApi } from './v1-support.js'

let redis: PrivateRedis
beforeAll(async () => {
  redis = await startPrivateRedis()
})
afterAll(() => redis.remove())

const api = useApi({ env: () => ({ WEBHOOKS_REDIS_URL: redis.url }) })

const ingest = (accountId: string) =>
  api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })

describe('without Redis', () => {
  it('ingest and test events are answered all the same, at once, and their rows are there', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await subscribe(api, token)
    await redis.kill('SIGKILL')
    const start = performance.now()
    const replies = await Promise.all([
      ingest(accountId),
      api.call('POST', `/v1/webhooks/${id}/test`, { token }),
    ])
    expect(performance.now() - start).toBeLessThan(1000)
    expect(replies.map(({ status }) => status)).toEqual([202, 200])
    expect(replies[1]?.body).toMatchObject({ queued: true })
    expect((await eventRows(api, accountId)).map(({ state }) => state)).toEqual(['queued', 'queued'])
    await waitFor(() => api.lines.some(({ msg }) => msg === 'events left to the sweeper'))
  })

  it('and after it is back, events reach the queue again', async () => {
    const { accountId } = await api.anAccount()
    redis = await redis.restart()
    const found = await waitFor(
      async () => {
        const { event_id } = (await ingest(accountId)).body as { event_id: string }
        return waitFor(async () => (await queuedEvents(api)).some(({ id }) => id === event_id), {
          timeoutMs: 300,
        })
      },
      { describe: 'an event in the queue' },
    )
    expect(found).toBe(true)
  })
})
