import { describe, expect, it } from '@jest/globals'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { callTool, errorOf, post, request, rpc, type Message } from './support/mcp.js'

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
      what_to_do: 'Check the current state before you call again',
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
    const ids = await Promise.all(owners.map(async ({ token }) => (await createEndpoint(api, token)).id))
    const outcomes = await Promise.all(owners.map(({ token }) => callTool(api, token, 'list_webhooks')))
    expect(outcomes.map(({ structuredContent }) => structuredContent)).toMatchObject(
      ids.map((id) => ({ items: [{ id }] })),
    )
  })
})

describe('params without the form that the protocol requires', () => {
  it.each<[string, object, string]>([
    ['tools/call', {}, 'name is required'],
    ['tools/call', { name: 7 }, 'name must be a string'],
    ['tools/call', { name: 'list_webhooks', arguments: [] }, 'arguments must be an object'],
    ['tools/call', { name: 'list_webhooks', arguments: null }, 'arguments must be an object'],
    ['tools/call', { name: 'list_webhooks', task: { ttl: 'x' } }, 'task.ttl must be a number'],
    ['tools/call', { name: 'drop_tables' }, 'There is no tool drop_tables'],
    ['tools/list', { cursor: 7 }, 'cursor must be a string'],
    ['resources/list', { cursor: {} }, 'cursor must be a string'],
    ['resources/templates/list', { cursor: [] }, 'cursor must be a string'],
    ['tools/list', { cursor: 'x' }, 'cursor is not known: this list has one page'],
    ['resources/list', { cursor: '' }, 'cursor is not known: this list has one page'],
    ['resources/templates/list', { cursor: 'x' }, 'cursor is not known: this list has one page'],
    ['resources/read', {}, 'uri is required'],
    ['resources/read', { uri: null }, 'uri must be a string'],
    ['resources/read', { uri: 'signet://nothing' }, 'There is no resource signet://nothing'],
    ['initialize', {}, 'protocolVersion is required'],
    [
      'initialize',
      { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test' } },
      'clientInfo.version is required',
    ],
  ])('are refused in words for people: %s %j', async (method, params, message) => {
    const { token } = await api.anAccount()
    expect((await rpc(api, token, method, params)).error).toEqual({ code: -32602, message })
    const now = await ask(token, method, params)
    if (method !== 'initialize') expect(now.error).toEqual({ code: -32602, message })
  })

  it('are refused in a batch, whose other messages run', async () => {
    const { token } = await api.anAccount()
    const reply = await post(api, [request('resources/read', {}, 1), request('ping', {}, 2)], { token })
    expect(reply.body).toMatchObject([
      { id: 1, error: { code: -32602, message: 'uri is required' } },
      { id: 2, result: {} },
    ])
  })

  it.each<[string, object]>([
    ['is missing', { 'io.modelcontextprotocol/clientCapabilities': undefined }],
    ['is no object', { 'io.modelcontextprotocol/clientInfo': 7 }],
  ])('are refused when a member that says who sends the message %s', async (_, envelope) => {
    const { token } = await api.anAccount()
    expect(await ask(token, 'tools/list', {}, envelope)).toMatchObject({
      id: 1,
      error: {
        code: -32602,
        message: expect.stringMatching(
          /^io\.modelcontextprotocol\/client\w+ in _meta is missing or does not/,
        ) as unknown,
      },
    })
  })

  it('say that there are no subscriptions, which is not our failure', async () => {
    const { token } = await api.anAccount()
    for (const params of [{}, { notifications: 7 }, { notifications: { toolsListChanged: true } }])
      expect((await ask(token, 'subscriptions/listen', params)).error).toEqual({
        code: -32601,
        message: 'There are no subscriptions here: what is offered does not change',
      })
    expect(api.lines.filter(({ level }) => level === 'error')).toEqual(earlierErrors())
  })
})

/** The errors of the tests that break something on purpose. */
const earlierErrors = () => api.lines.filter(({ level, msg }) => level === 'error' && msg === 'tool call')

/** A request in the protocol of 2026, where each message says who sends it. */
async function ask(token: string, method: string, params: object, envelope: object = {}): Promise<Message> {
  const { name, uri } = params as { name?: unknown; uri?: unknown }
  const named = name ?? uri
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...envelope,
  }
  const reply = await post(api, request(method, { ...params, _meta }), {
    token,
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof named === 'string' ? { 'mcp-name': named } : {}),
    },
  })
  return reply.body
}
