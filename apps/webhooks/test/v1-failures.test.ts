import { afterEach, describe, expect, it } from '@jest/globals'
import { REQUEST_TIMEOUT_MS } from '../src/http/time-limit.js'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi, type Reply } from './support/api.js'

const api = useApi()

const FAILURE = { error: { code: 'internal', message: 'Something went wrong on our side' } }

/** The tables behind /v1. Renaming them causes an unexpected error, whose PostgreSQL message names them. */
const TABLES = ['webhook_endpoints', 'webhook_events', 'webhook_deliveries', 'recordings']

async function inEachTable(from: string, to: string): Promise<void> {
  for (const table of TABLES) await api.db.query(`alter table ${table}${from} rename to ${table}${to}`)
}

describe('a failure that nobody foresaw', () => {
  afterEach(() => inEachTable('_away', ''))

  it('is 500 `internal` on every route, and only the log says what it was', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await inEachTable('', '_away')
    const replies: Reply[] = [
      await api.call('POST', '/v1/webhooks', { token, body: { url: 'https://example.com/s3cret' } }),
      await api.call('GET', '/v1/webhooks', { token }),
      await api.call('PATCH', `/v1/webhooks/${id}`, { token, body: {} }),
      await api.call('DELETE', `/v1/webhooks/${id}`, { token }),
      await api.call('POST', `/v1/webhooks/${id}/test`, { token }),
      await api.call('GET', `/v1/webhooks/${id}/deliveries`, { token }),
      await api.call('GET', '/v1/webhook-events/samples', { token }),
      await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) }),
      await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/r`, { body: { title: 'x' } }),
      await api.internal('DELETE', `/internal/v1/accounts/${accountId}/recordings/r`),
      await api.internal('DELETE', `/internal/v1/accounts/${accountId}`),
    ]
    for (const { status, headers, body } of replies) {
      expect([status, body]).toEqual([500, FAILURE])
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('retry-after')).toBeNull()
      const requestId = headers.get('x-request-id')
      const line = api.lines.find((one) => one['level'] === 'error' && one['request_id'] === requestId)
      expect(JSON.stringify(line)).toMatch(/relation \\?.+ does not exist/)
    }
    expect(JSON.stringify(api.lines)).not.toContain('s3cret')
  })
})

it('a statement ends on the server when nobody waits for its request anymore', async () => {
  const { rows } = await api.service.ctx.db.query('show statement_timeout')
  expect(rows).toEqual([{ statement_timeout: `${REQUEST_TIMEOUT_MS / 1000}s` }])
})
