import { describe, expect, it } from '@jest/globals'
import { definitionOf, eventTypes } from '@signet/webhook-core'
import { useApi } from './support/api.js'
import { initialize, post, request, rpc, type Message } from './support/mcp.js'

const api = useApi()

describe('the transport', () => {
  it('answers the handshake as JSON, keeps no session, and says what it offers', async () => {
    const { token } = await api.anAccount()
    const reply = await post(api, initialize, { token })
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    expect(reply.headers.get('mcp-session-id')).toBeNull()
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect((reply.body as Message).result).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'signet-webhooks' },
      capabilities: { tools: {}, resources: {} },
      instructions: expect.stringContaining('create_webhook') as unknown,
    })
    const done = await post(api, { jsonrpc: '2.0', method: 'notifications/initialized' }, { token })
    expect([done.status, done.text]).toEqual([202, ''])
  })

  it('has no streams and no sessions to end: GET and DELETE are 405', async () => {
    const { token } = await api.anAccount()
    for (const method of ['GET', 'DELETE']) {
      const reply = await api.call(method, '/mcp', { token, headers: { accept: 'text/event-stream' } })
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it.each<[string, unknown, number, number]>([
    ['no JSON', '{', 400, -32700],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400, -32600],
    ['no JSON-RPC', { method: 7 }, 400, -32600],
    ['a list of nothing that is a message', [null, 7, 'x', [null]], 400, -32600],
    ['a message with a fraction for an id', { jsonrpc: '2.0', id: 0.5, method: 'ping' }, 400, -32600],
    ['a message with an object for an id', { jsonrpc: '2.0', id: {}, method: 'ping' }, 400, -32600],
    ['null', 'null', 400, -32600],
    ['a text', '"x"', 400, -32600],
    ['empty', '', 400, -32600],
    ['an empty batch', [], 400, -32600],
    ['too large', `"${'a'.repeat(65_536)}"`, 413, -32600],
    ['nested without end', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400, -32600],
    ['a batch that is too long', Array.from({ length: 21 }, () => request('ping')), 400, -32600],
  ])('refuses a body that is %s', async (_, body, status, code) => {
    const { token } = await api.anAccount()
    const reply = await post(api, body, { token })
    expect(reply.status).toBe(status)
    expect(reply.body).toMatchObject({
      id: null,
      error: { code, data: { code: 'bad_request' } },
    })
    expect(reply.text).not.toContain('aaaa')
  })

  it('refuses arguments nested without end as any others that do not fit', async () => {
    const { token } = await api.anAccount()
    const events = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_webhook","arguments":{"url":"https://example.com","events":${events}}}}`
    const reply = await post(api, raw, { token })
    expect([reply.status, (reply.body as Message).result]).toMatchObject([200, { isError: true }])
  })

  it('refuses another content type, and a client that does not accept its answers', async () => {
    const { token } = await api.anAccount()
    const text = await post(api, initialize, { token, headers: { 'content-type': 'text/plain' } })
    expect([text.status, (text.body as Message).error?.message]).toEqual([
      400,
      'The content type must be application/json',
    ])
    expect((await post(api, initialize, { token, headers: { accept: 'text/html' } })).status).toBe(406)
  })

  it('refuses a protocol version that it does not know, and names those it does', async () => {
    const { token } = await api.anAccount()
    const headers = { 'mcp-protocol-version': '1999-01-01' }
    const reply = await post(api, request('tools/list'), { token, headers })
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('2025-11-25')])
  })

  it('answers a batch where the protocol has them, and nowhere else', async () => {
    const { token } = await api.anAccount()
    const batch = [request('ping', {}, 1), request('tools/call', { name: 'list_webhooks' }, 2)]
    const reply = await post(api, batch, { token })
    expect((reply.body as Message[]).map(({ id, result }) => [id, result])).toMatchObject([
      [1, {}],
      [2, { structuredContent: { items: [] } }],
    ])
    const headers = { 'mcp-protocol-version': '2025-06-18' }
    expect((await post(api, batch, { token, headers })).status).toBe(400)
  })

  it('answers each message of a batch separately, including items that are not messages', async () => {
    const { token } = await api.anAccount()
    const bad = [
      7,
      { jsonrpc: '1.0', id: 3, method: 'ping' },
      { jsonrpc: '2.0', id: 4, method: 'ping', params: [] },
    ]
    const reply = await post(api, [request('ping', {}, 1), ...bad], { token })
    const none = {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'This is not a valid message of the protocol' },
    }
    expect([reply.status, reply.body]).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 1, result: {} },
        none,
        none,
        { jsonrpc: '2.0', id: 4, error: { code: -32602, message: 'params must be an object' } },
      ],
    ])
    const notified = await post(api, [{ jsonrpc: '2.0', method: 'notifications/initialized' }, 7], { token })
    expect([notified.status, notified.body]).toEqual([200, [none]])
  })

  it('answers a batch of notifications with nothing', async () => {
    const { token } = await api.anAccount()
    const reply = await post(api, [{ jsonrpc: '2.0', method: 'notifications/initialized' }], { token })
    expect([reply.status, reply.text]).toEqual([202, ''])
  })

  it('answers a request that a message of the same batch cancels', async () => {
    const { token } = await api.anAccount()
    const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
    const ping = request('ping', {}, 5)
    for (const batch of [
      [ping, cancellation],
      [cancellation, ping],
    ]) {
      const reply = await post(api, batch, { token })
      expect(reply.body).toEqual([{ jsonrpc: '2.0', id: 5, result: {} }])
    }
  })

  it('takes responses, for which it never asks, without a word', async () => {
    const { token } = await api.anAccount()
    const deep = `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`
    for (const body of [{ jsonrpc: '2.0', id: 1, result: {} }, deep, `[${deep}]`]) {
      const reply = await post(api, body, { token })
      expect([reply.status, reply.text]).toEqual([202, ''])
    }
    const mixed = await post(api, `[${deep},${JSON.stringify(request('ping', {}, 2))}]`, { token })
    expect(mixed.body).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }])
  })

  it.each<[string, unknown]>([
    ['tools/list', []],
    ['tools/call', 'list_webhooks'],
    ['resources/read', 7],
    ['initialize', null],
  ])('refuses params that are not an object: %s %j', async (method, params) => {
    const { token } = await api.anAccount()
    const reply = await post(api, { jsonrpc: '2.0', id: 1, method, params }, { token })
    expect([reply.status, reply.body]).toEqual([
      200,
      { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'params must be an object' } },
    ])
  })

  it('answers a batch of one in a list', async () => {
    const { token } = await api.anAccount()
    const reply = await post(api, [request('ping', {}, 5)], { token })
    expect(reply.body).toEqual([{ jsonrpc: '2.0', id: 5, result: {} }])
  })

  it('runs nothing of a batch in which two messages have one id', async () => {
    const { token } = await api.anAccount()
    const create = (path: string) =>
      request('tools/call', { name: 'create_webhook', arguments: { url: `https://example.com/${path}` } }, 7)
    expect((await post(api, [create('a'), create('b')], { token })).status).toBe(400)
    const { result } = await rpc(api, token, 'tools/call', { name: 'list_webhooks' })
    expect(result).toMatchObject({ structuredContent: { items: [] } })
  })

  it.each([
    '*/*',
    '*/*;q=0.8',
    'application/json, text/plain, */*',
    'application/*, text/*',
    'Application/JSON, Text/Event-Stream',
  ])('serves a client that accepts %s', async (accept) => {
    const { token } = await api.anAccount()
    expect((await post(api, request('ping'), { token, headers: { accept } })).status).toBe(200)
  })

  it('knows no other methods, tools or resources', async () => {
    const { token } = await api.anAccount()
    expect((await rpc(api, token, 'prompts/list')).error?.code).toBe(-32601)
    expect((await rpc(api, token, 'constructor')).error?.code).toBe(-32601)
    for (const name of ['drop_tables', '__proto__', 'constructor', ''])
      expect((await rpc(api, token, 'tools/call', { name })).error).toMatchObject({ code: -32602 })
    for (const uri of [
      'file:///etc/passwd',
      'signet://events/../secrets',
      'signet://events/__proto__/sample',
    ])
      expect((await rpc(api, token, 'resources/read', { uri })).error).toMatchObject({ code: -32602 })
  })

  it('serves the protocol of 2026, where each message says who sends it', async () => {
    const { token } = await api.anAccount()
    const ask = (method: string, params: object = {}) =>
      post(
        api,
        request(method, {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        }),
        {
          token,
          headers: {
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': method,
            ...('name' in params ? { 'mcp-name': String(params.name) } : {}),
          },
        },
      )
    const called = await ask('tools/call', { name: 'list_webhooks', arguments: {} })
    expect([called.status, called.text]).toEqual([200, expect.stringContaining('"items":[]')])
    expect((await ask('server/discover')).text).toContain('2026-07-28')
  })
})

describe('the resources', () => {
  it('have a template for samples', async () => {
    const { token } = await api.anAccount()
    const { result } = await rpc(api, token, 'resources/templates/list')
    expect(result).toMatchObject({
      resourceTemplates: [{ uriTemplate: 'signet://events/{type}/sample', mimeType: 'application/json' }],
    })
  })

  it('are the event catalogue and a sample of each type', async () => {
    const { token } = await api.anAccount()
    const { result } = await rpc(api, token, 'resources/list')
    const { resources } = result as { resources: { uri: string }[] }
    expect(resources.map(({ uri }) => uri)).toEqual([
      'signet://events',
      ...eventTypes.map((type) => `signet://events/${type}/sample`),
    ])
    const read = async (uri: string) => {
      const { contents } = (await rpc(api, token, 'resources/read', { uri })).result as {
        contents: { text: string; mimeType: string }[]
      }
      expect(contents[0]?.mimeType).toBe('application/json')
      return JSON.parse(contents[0]?.text ?? '') as Record<string, unknown>
    }
    const { events } = await read('signet://events')
    expect(events).toMatchObject(
      eventTypes.map((type) => ({ type, data: { properties: definitionOf(type).properties } })),
    )
    for (const type of eventTypes)
      expect(await read(`signet://events/${type}/sample`)).toMatchObject({ type })
  })
})
