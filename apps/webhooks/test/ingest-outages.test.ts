import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun, startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { aNotice, eventRows, queuedEvents, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

let redis: PrivateRedis
beforeAll(async () => {
  redis = await startPrivateRedis()
})

const api = useApi({
  env: () => ({ WEBHOOKS_REDIS_URL: redis.url, WEBHOOKS_RATE_LIMITS_ENABLED: 'true' }),
})

// After the service, which would else try to reach it again.
afterAll(() => redis.remove())

const below = (limit: number) => ({ asymmetricMatch: (value: unknown) => Number(value) < limit })
const ingest = (accountId: string) =>
  api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })

describe('without Redis', () => {
  it('ingest and test events are answered all the same, at once, and their rows are there', async () => {
    await redis.kill('SIGKILL')
    const answers: unknown[] = []
    await holdsInSomeRun(async () => {
      const { accountId, token } = await api.anAccount()
      const { id } = await createEndpoint(api, token)
      const start = performance.now()
      const replies = await Promise.all([
        ingest(accountId),
        api.call('POST', `/v1/webhooks/${id}/test`, { token }),
      ])
      const tookMs = performance.now() - start
      const states = (await eventRows(api, accountId)).map(({ state }) => state)
      answers.push([...replies.map(({ status }) => status), replies[1]?.body['queued'], ...states])
      expect(tookMs).toBeLessThan(1900) // A command to Redis is given up after two seconds.
    })
    expect(answers).toEqual(answers.map(() => [202, 200, true, 'queued', 'queued']))
    await waitFor(() => api.lines.some(({ msg }) => msg === 'events left to the sweeper'))
  })

  it('and after it is back, events reach the queue again', async () => {
    const { accountId } = await api.anAccount()
    redis = await redis.restart()
    const found = await waitFor(
      async () => {
        const { event_id } = (await ingest(accountId)).body as { event_id: string }
        return waitFor(async () => (await queuedEvents(api)).some(({ eventId }) => eventId === event_id), {
          timeoutMs: 300,
        })
      },
      { describe: 'an event in the queue' },
    )
    expect(found).toBe(true)
  })
})

describe('with a Redis that hangs', () => {
  it('a first request waits a second at most, and those after it do not wait', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    const elapsed = async (work: () => Promise<{ status: number }>) => {
      const start = performance.now()
      const { status } = await work()
      return { status, ms: performance.now() - start }
    }
    process.kill(redis.pid, 'SIGSTOP')
    try {
      const list = () => api.call('GET', '/v1/webhooks', { token })
      expect((await list()).status).toBe(200)
      const test = () => api.call('POST', `/v1/webhooks/${id}/test`, { token })
      await holdsInSomeRun(async () => {
        expect(await elapsed(list)).toEqual({ status: 200, ms: below(500) })
        expect(await elapsed(test)).toEqual({ status: 200, ms: below(500) })
        expect(await elapsed(() => ingest(accountId))).toEqual({ status: 202, ms: below(500) })
      })
    } finally {
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
