import { describe, expect, it } from '@jest/globals'
import { disable, listOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

async function given() {
  const { token } = await api.anAccount()
  const { id } = await createEndpoint(api, token)
  const ask = (method: string, suffix = '') => api.call(method, `/v1/webhooks/${id}${suffix}`, { token })
  return { id, token, ask }
}

describe('GET /v1/webhooks/{endpoint_id}', () => {
  it('answers the item of the list', async () => {
    const { token, ask } = await given()
    await createEndpoint(api, token)
    const reply = await ask('GET')
    expect([reply.status, reply.body]).toEqual([200, { item: (await listOf(api, token))[0] }])
  })

  it('says since when an endpoint fails, and when and why it was disabled', async () => {
    const { id, ask } = await given()
    const times = { failing_since: '', disabled_at: '', disabled_reason: '' }
    expect((await ask('GET')).body).toMatchObject({ item: times })
    await api.db.query(
      `update webhook_endpoints set status = 2, consecutive_failures = 20, failing_since = '2026-01-01T10:00:00Z',
         disabled_at = '2026-01-01T11:00:00Z', disabled_reason = 'http_503' where id = $1`,
      [id],
    )
    expect((await ask('GET')).body).toMatchObject({
      item: {
        status: 2,
        consecutive_failures: 20,
        failing_since: '2026-01-01T10:00:00.000Z',
        disabled_at: '2026-01-01T11:00:00.000Z',
        disabled_reason: 'http_503',
      },
    })
  })
})

describe('POST /v1/webhooks/{endpoint_id}/enable', () => {
  it.each([
    ['a disabled', disable],
    [
      'an active',
      (_: unknown, id: string) =>
        api.db.query(
          'update webhook_endpoints set consecutive_failures = 19, failing_since = now() where id = $1',
          [id],
        ),
    ],
  ])('makes %s endpoint active at the same url, without failures', async (_, prepare) => {
    const { id, token, ask } = await given()
    const before = (await listOf(api, token))[0]
    await prepare(api, id)
    const reply = await ask('POST', '/enable')
    const expected = {
      ...before,
      status: 1,
      consecutive_failures: 0,
      failing_since: '',
      disabled_at: '',
      disabled_reason: '',
      updated_at: expect.any(String) as unknown,
    }
    expect([reply.status, reply.body]).toEqual([200, { item: expected }])
    expect((await ask('GET')).body).toEqual(reply.body)
  })

  it('answers all of many simultaneous callers alike', async () => {
    const { id, ask } = await given()
    await disable(api, id)
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask('POST', '/enable')))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect((await ask('GET')).body).toMatchObject({ item: { status: 1, consecutive_failures: 0 } })
  })
})
