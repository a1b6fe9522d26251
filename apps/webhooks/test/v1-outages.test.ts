import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPrivatePostgres, type PrivatePostgres } from '@signet/testkit'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { post, request } from './support/mcp.js'
import { everyConnectionLost } from './support/queries.js'

let postgres: PrivatePostgres
beforeAll(async () => {
  postgres = await startPrivatePostgres()
})

const api = useApi({
  async databaseUrl() {
    await postgres.createDatabase('webhooks')
    return postgres.url('webhooks')
  },
})

// Removes the database after the service has closed its connections.
afterAll(() => postgres.remove())

describe('without its database', () => {
  it('every /v1 route, /mcp and ingest answer 503 `unavailable` with Retry-After, without details, and recover', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await postgres.kill('SIGKILL')
    await everyConnectionLost(api.db)
    const replies = await Promise.all([
      api.call('POST', '/v1/webhooks', { token, body: { url: 'https://example.com' } }),
      api.call('GET', '/v1/webhooks', { token }),
      api.call('PATCH', `/v1/webhooks/${id}`, { token, body: {} }),
      api.call('DELETE', `/v1/webhooks/${id}`, { token }),
      api.call('POST', `/v1/webhooks/${id}/test`, { token }),
      api.call('GET', `/v1/webhooks/${id}/deliveries`, { token }),
      api.call('GET', '/v1/webhook-events/samples', { token }),
      api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) }),
      api.internal('DELETE', `/internal/v1/accounts/${accountId}`),
    ])
    for (const reply of replies) {
      expect([reply.status, reply.headers.get('retry-after'), reply.body]).toEqual([
        503,
        '5',
        { error: { code: 'unavailable', message: 'A required service is temporarily unavailable' } },
      ])
    }
    const mcp = await post(api, request('tools/call', { name: 'list_webhooks' }), { token })
    expect([mcp.status, mcp.headers.get('retry-after'), mcp.body]).toMatchObject([
      503,
      '5',
      { jsonrpc: '2.0', id: null, error: { code: -32000, data: { code: 'unavailable' } } },
    ])
    postgres = await postgres.restart()
    expect((await api.call('GET', '/v1/webhooks', { token })).status).toBe(200)
  })
})
