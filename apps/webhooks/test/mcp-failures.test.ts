import { describe, expect, it } from '@jest/globals'
import { aNotice, subscribe } from './support/api-data.js'
import { useApi } from './support/api.js'
import { callTool, errorOf } from './support/mcp.js'

const api = useApi()

describe('a tool', () => {
  it('says that a failure is ours, without its details, which the log has', async () => {
    const { accountId, token } = await api.anAccount()
    await api.db.query('alter table webhook_endpoints rename to hidden')
    const outcome = await callTool(api, token, 'list_webhooks')
    await api.db.query('alter table hidden rename to webhook_endpoints')
    expect(errorOf(outcome)).toEqual({
      code: 'internal',
      message: 'Something went wrong on our side',
      what_to_do: 'Look at the current state before you call again',
    })
    const line = api.lines.find(({ msg, account_id }) => msg === 'tool call' && account_id === accountId)
    expect(line).toMatchObject({ level: 'error', outcome: 'internal' })
    expect(JSON.stringify(line)).toContain('webhook_endpoints')
  })

  it('gives up on an answer that is too long for a model, and says what else there is', async () => {
    const { accountId, token } = await api.anAccount()
    const summaries = [{ label: 'Summary', content: 'a'.repeat(3 * 1024 * 1024), format: 'markdown' }]
    const { status } = await api.internal('POST', '/internal/v1/summary-ready', {
      body: aNotice(accountId, { summaries }),
    })
    expect(status).toBeLessThan(300)
    const outcome = await callTool(api, token, 'list_event_samples', { limit: 1 })
    expect(errorOf(outcome)).toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/ask for fewer entries, or use the HTTP API$/) as unknown,
    })
  })

  it('serves each of many parallel callers for itself', async () => {
    const owners = await Promise.all(Array.from({ length: 8 }, () => api.anAccount()))
    const ids = await Promise.all(owners.map(async ({ token }) => (await subscribe(api, token)).id))
    const outcomes = await Promise.all(owners.map(({ token }) => callTool(api, token, 'list_webhooks')))
    expect(outcomes.map(({ structuredContent }) => structuredContent)).toMatchObject(
      ids.map((id) => ({ items: [{ id }] })),
    )
  })
})
