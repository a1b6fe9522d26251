import { describe, expect, it } from '@jest/globals'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv } from 'ajv'
import { eventTypes } from '@signet/webhook-core'
import { publicRoutes } from '../src/routes.js'
import { disable, listOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { callTool, errorOf, toolsOf } from './support/mcp.js'

const api = useApi()

describe('the list of tools', () => {
  it('has an operation of /v1 each, and every one of them', async () => {
    const { token } = await api.anAccount()
    const tools = await toolsOf(api, token)
    const { v1 } = publicRoutes(api.service.ctx)
    // Every route of /v1 has an effect, which makes it a tool. An exception would have to be listed here.
    expect(v1.filter(({ docs }) => docs.effect === undefined)).toEqual([])
    expect(tools.map(({ name }) => name)).toEqual([
      'create_webhook',
      'list_webhooks',
      'get_webhook',
      'update_webhook',
      'enable_webhook',
      'delete_webhook',
      'rotate_webhook_secret',
      'activate_webhook_secret',
      'cancel_webhook_secret',
      'test_webhook',
      'list_deliveries',
      'get_delivery',
      'replay_delivery',
      'start_recovery',
      'list_recoveries',
      'get_recovery',
      'cancel_recovery',
      'list_event_samples',
    ])
    const readOnly = tools.filter(({ annotations }) => annotations['readOnlyHint'])
    expect(readOnly.map(({ name }) => name)).toEqual(
      v1
        .filter(({ method }) => method === 'get')
        .map(({ docs }) => docs.operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
    )
  })

  it('describes each by what /v1 says of it, in schemas that stand alone', async () => {
    const { token } = await api.anAccount()
    const tools = await toolsOf(api, token)
    const ajv = new Ajv({ strict: false, validateFormats: false })
    for (const { inputSchema, outputSchema, description } of tools) {
      expect(ajv.validateSchema(inputSchema)).toBe(true)
      expect(outputSchema).toMatchObject({ type: 'object' })
      expect(JSON.stringify([inputSchema, outputSchema])).not.toContain('$ref')
      expect(description.length).toBeGreaterThan(10)
    }
    expect(tools.find(({ name }) => name === 'update_webhook')).toMatchObject({
      title: 'Change a webhook',
      inputSchema: { required: ['endpoint_id'], additionalProperties: false },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    })
    expect(tools.find(({ name }) => name === 'list_deliveries')).toMatchObject({
      inputSchema: { properties: { status: { enum: [0, 1, 2] }, page_size: { default: 20 } } },
      annotations: { readOnlyHint: true },
    })
  })
})

describe('a tool', () => {
  it('does what its route does, and answers the same as text and as structure', async () => {
    const { token } = await api.anAccount()
    const call = (name: string, given?: object) => callTool(api, token, name, given)
    const made = (
      await call('create_webhook', { url: 'https://example.com/a', events: ['summary.completed'] })
    ).structuredContent as { endpoint_id: string; secret: string }
    expect(made.secret).toMatch(/^whsec_/)
    const { endpoint_id } = made
    expect(await listOf(api, token)).toMatchObject([{ id: endpoint_id, url: 'https://example.com/a' }])
    const got = await call('get_webhook', { endpoint_id })
    expect(JSON.parse(got.content[0]?.text ?? '')).toEqual(got.structuredContent)
    expect(got.structuredContent).toEqual(
      (await api.call('GET', `/v1/webhooks/${endpoint_id}`, { token })).body,
    )

    const changed = await call('update_webhook', { endpoint_id, url: 'https://example.com/b' })
    expect(changed.structuredContent).toMatchObject({ item: { url: 'https://example.com/b', events: [] } })
    await disable(api, endpoint_id)
    expect((await call('enable_webhook', { endpoint_id })).structuredContent).toMatchObject({
      item: { status: 1 },
    })
    const rotated = await call('rotate_webhook_secret', { endpoint_id, activate_after_hours: 1 })
    expect(rotated.structuredContent).toMatchObject({ secret: expect.stringMatching(/^whsec_/) as unknown })
    await call('cancel_webhook_secret', { endpoint_id })
    // Every argument except the id is optional, as the body is.
    await call('rotate_webhook_secret', { endpoint_id })
    expect((await call('activate_webhook_secret', { endpoint_id })).structuredContent).toMatchObject({
      item: { secret_activates_at: '' },
    })

    const { event_id } = (await call('test_webhook', { endpoint_id })).structuredContent as {
      event_id: string
    }
    expect(event_id).toMatch(/^evt_/)
    const log = await call('list_deliveries', { endpoint_id, page_size: 5, status: null })
    expect(log.structuredContent).toEqual({ items: [], next_cursor: '' })
    const since = new Date(Date.now() - 60_000).toISOString()
    const future = { endpoint_id, since: '2998-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' }
    expect(errorOf(await callTool(api, token, 'start_recovery', future))).toMatchObject({
      code: 'bad_request',
      message: 'since must be earlier than until and now',
    })
    const { item } = (await call('start_recovery', { endpoint_id, since })).structuredContent as {
      item: { id: string }
    }
    expect(
      (await call('get_recovery', { endpoint_id, recovery_id: item.id })).structuredContent,
    ).toMatchObject({
      item: { matched: 0 },
    })
    expect((await call('list_recoveries', { endpoint_id })).structuredContent).toMatchObject({
      items: [{ id: item.id }],
      next_cursor: '',
    })
    const samples = (await call('list_event_samples', { limit: 1 })).structuredContent as { items: unknown[] }
    expect(samples.items).toMatchObject([{ type: 'summary.completed' }])
    expect((await call('delete_webhook', { endpoint_id })).structuredContent).toEqual({ ok: true })
    expect(await listOf(api, token)).toEqual([])
  })

  it('shows a secret when it is made, and never again', async () => {
    const { token } = await api.anAccount()
    const { id, secret } = await createEndpoint(api, token)
    const { secret: next } = (await callTool(api, token, 'rotate_webhook_secret', { endpoint_id: id }))
      .structuredContent as { secret: string }
    const all = JSON.stringify([
      await callTool(api, token, 'get_webhook', { endpoint_id: id }),
      await callTool(api, token, 'list_webhooks'),
      await callTool(api, token, 'update_webhook', { endpoint_id: id, events: [] }),
      await callTool(api, token, 'activate_webhook_secret', { endpoint_id: id }),
    ])
    expect(all).not.toContain('whsec_')
    const logged = JSON.stringify(api.lines)
    for (const hidden of [secret, next, token]) expect(logged).not.toContain(hidden)
  })

  it.each<[string, string, object, string, string]>([
    ['a missing id', 'get_webhook', {}, 'bad_request', 'endpoint_id is required'],
    ['an id that is none', 'get_webhook', { endpoint_id: 'x' }, 'not_found', 'There is no such resource'],
    ['a missing member', 'create_webhook', {}, 'bad_request', 'url is required'],
    ['a wrong type', 'create_webhook', { url: 7 }, 'bad_request', 'url must be a string'],
    [
      'an unknown event type',
      'create_webhook',
      { url: 'https://example.com', events: ['x'] },
      'bad_request',
      `Unknown event type x: use one of ${eventTypes.join(', ')}`,
    ],
    [
      'a misspelled argument',
      'create_webhook',
      { url: 'https://example.com', event: ['summary.completed'] },
      'bad_request',
      'There is no argument event: the arguments are url, events',
    ],
    [
      'an argument of a tool without any',
      'list_webhooks',
      { x: 1 },
      'bad_request',
      'There is no argument x: this tool takes none',
    ],
    [
      'a list where the query takes one',
      'list_event_samples',
      { limit: [1] },
      'bad_request',
      'limit must be a string or a number',
    ],
    [
      'a number that is too odd',
      'list_event_samples',
      { limit: 1.5 },
      'bad_request',
      'limit must be between 1 and 10',
    ],
  ])('refuses %s in words for the model', async (_, name, given, code, message) => {
    const { token } = await api.anAccount()
    expect(errorOf(await callTool(api, token, name, given))).toMatchObject({
      code,
      message: expect.stringContaining(message) as unknown,
      what_to_do: expect.any(String) as unknown,
    })
  })

  it('answers by its schema, formats included, whatever characters a URL has', async () => {
    const { token } = await api.anAccount()
    const client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }))
    // From here on, this client refuses answers that do not match the schema of their tool.
    await client.listTools()
    const urls = [
      'https://bücher.example/ü',
      'https://example.com/{id}',
      'https://example.com/a|b?q="x"',
      'https://example.com/%zz',
      'https://example.com/[x]',
    ]
    for (const url of urls) {
      const made = await client.callTool({ name: 'create_webhook', arguments: { url } })
      expect(made.structuredContent).toMatchObject({ url })
    }
    const list = await client.callTool({ name: 'list_webhooks', arguments: {} })
    const { items } = list.structuredContent as { items: { url: string }[] }
    expect(items.map(({ url }) => url).toSorted()).toEqual(urls.toSorted())
    await client.close()
  })

  it('does not clear the events of a webhook when nothing was given', async () => {
    const { token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    expect(errorOf(await callTool(api, token, 'update_webhook', { endpoint_id: id }))).toMatchObject({
      code: 'bad_request',
      message: 'Give at least one of url, events',
    })
    expect(await listOf(api, token)).toMatchObject([{ events: ['summary.completed'] }])
  })

  it('reports a quota and a conflict as /v1 does', async () => {
    const { token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    for (let i = 0; i < 4; i++) await createEndpoint(api, token)
    expect(
      errorOf(await callTool(api, token, 'create_webhook', { url: 'https://example.com' })),
    ).toMatchObject({
      code: 'too_many_requests',
      what_to_do: expect.stringContaining('delete one') as unknown,
    })
    expect(errorOf(await callTool(api, token, 'cancel_webhook_secret', { endpoint_id: id }))).toMatchObject({
      code: 'conflict',
    })
  })
})

it('every call is a log line and a count, without its arguments', async () => {
  const { accountId, token } = await api.anAccount()
  await callTool(api, token, 'list_webhooks')
  await callTool(api, token, 'get_webhook', { endpoint_id: '987654321' })
  const lines = api.lines.filter((line) => line['msg'] === 'tool call' || line['message'] === 'tool call')
  const ours = lines.filter((line) => line['account_id'] === accountId)
  expect(ours).toMatchObject([
    { tool: 'list_webhooks', outcome: 'ok', request_id: expect.any(String) as unknown },
    { tool: 'get_webhook', outcome: 'not_found' },
  ])
  expect(JSON.stringify(ours)).not.toContain('987654321')
  const metrics = await fetch(`${api.internalUrl}/metrics`)
  expect(await metrics.text()).toMatch(/mcp_tool_calls_total\{tool="list_webhooks",outcome="ok"\} [1-9]/)
})
