import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { disable, eventRows, queuedEvents, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

type Accepted = { event_id: string; queued: boolean }

describe('POST /v1/webhooks/{endpoint_id}/test', () => {
  it('answers when the event is committed, for any endpoint and any body', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token, { url: 'https://example.com/hook' })
    const reply = await api.call('POST', `/v1/webhooks/${id}/test`, {
      token,
      raw: 'no JSON',
      headers: { 'content-type': 'text/plain' },
    })
    const { event_id } = reply.body as Accepted
    expect([reply.status, reply.body]).toEqual([
      200,
      { event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as unknown, queued: true },
    ])
    expect(await eventRows(api, accountId)).toEqual([
      { id: event_id, type: 'webhook.ping', target_endpoint_id: id, state: 'queued', body: null },
    ])
  })

  it('hands the event to the queue by ids alone', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    const { event_id } = (await api.call('POST', `/v1/webhooks/${id}/test`, { token })).body as Accepted
    const queued = await waitFor(async () => {
      const found = (await queuedEvents(api)).filter(({ eventId }) => eventId === event_id)
      return found.length > 0 && found
    })
    expect(queued).toEqual([{ eventId: event_id, accountId }])
  })

  it('queues nothing for a disabled endpoint and says so', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await disable(api, id)
    const reply = await api.call('POST', `/v1/webhooks/${id}/test`, { token })
    expect([reply.status, reply.body]).toEqual([
      200,
      { event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as unknown, queued: false },
    ])
    expect(await eventRows(api, accountId)).toEqual([])
  })

  it('makes a new event with every call', async () => {
    const { token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => api.call('POST', `/v1/webhooks/${id}/test`, { token })),
    )
    expect(new Set(replies.map(({ body }) => (body as Accepted).event_id)).size).toBe(5)
  })
})
