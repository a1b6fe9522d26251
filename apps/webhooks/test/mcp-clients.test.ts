import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { hasModules, python } from '@signet/testkit/programs'
import { Person, startStack, waitFor, type Stack } from '@signet/testkit'
import { McpProvider } from './support/mcp-provider.js'
import { PYTHON_FOLDER, talkTo } from './support/programs.js'
import type { ToolOutcome } from './support/mcp.js'

// Runs third-party hosts, unchanged, with nothing but the address of the server: they find out where to sign in, register, let the
// person consent, and take a webhook from its creation to a verified delivery. All services run as built.

let stack: Stack
let receiver: Receiver
let host: Awaited<ReturnType<typeof redirectListener>>
const folder = mkdtempSync(join(tmpdir(), 'signet-mcp-'))

beforeAll(async () => {
  receiver = await startReceiver()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, receiver.authorityCert)
  stack = await startStack({ env: { dispatcher: { NODE_EXTRA_CA_CERTS: authority } } })
  host = await redirectListener()
})
afterAll(async () => {
  host?.close()
  await stack?.close()
  await receiver?.close()
  rmSync(folder, { recursive: true, force: true })
})

const server = () => new URL(`${stack.webhooksUrl}/mcp`)

/** Listens for the answer of the consent page, as a host on the person's own machine does. */
async function redirectListener() {
  const calls: URL[] = []
  const listener = createServer((req, res) => {
    calls.push(new URL(req.url ?? '', url))
    res.end('You may close this window.')
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
  return {
    url,
    /** Signs up a new person, who signs in and approves. Returns the URL at which the browser arrives. */
    async approve(address: string): Promise<URL> {
      const person = await Person.signUp(stack.authUrl)
      expect(await person.approve(address)).toBe(200)
      return calls.pop() ?? new URL('missing:')
    },
    close: () => listener.close(),
  }
}

type Call = (name: string, given?: Record<string, string | string[]>) => Promise<unknown>

/** Does what a person would ask their host to do, with the `call` of any client. */
async function fromNothingToADelivery(call: Call, path: string): Promise<void> {
  const made = async <T>(name: string, given?: Parameters<Call>[1]) => {
    const { isError, structuredContent } = (await call(name, given)) as ToolOutcome
    expect(isError ?? false).toBe(false)
    return structuredContent as T
  }
  expect(await made('list_webhooks')).toEqual({ items: [] })
  const { endpoint_id, secret } = await made<{ endpoint_id: string; secret: string }>('create_webhook', {
    url: receiver.url(path),
  })
  receiver.hook(path, { secret })
  const { event_id } = await made<{ event_id: string }>('test_webhook', { endpoint_id })
  const { verified, event } = await receiver.waitForDelivery({ path, type: 'webhook.ping' })
  expect([verified, event?.id]).toEqual([true, event_id])
  const delivered = await waitFor(async () => {
    const { items } = await made<{ items: { id: string; status: number }[] }>('list_deliveries', {
      endpoint_id,
    })
    return items.find(({ status }) => status === 1)
  })
  expect(await made('get_delivery', { endpoint_id, delivery_id: delivered.id })).toMatchObject({
    item: { event_id, attempt_log: [{ number: 1, http_status: 200 }] },
  })
  expect(await made('delete_webhook', { endpoint_id })).toEqual({ ok: true })
  const gone = (await call('get_webhook', { endpoint_id })) as ToolOutcome
  expect([gone.isError, gone.content[0]?.text]).toEqual([true, expect.stringContaining('not_found')])
}

const aProvider = () =>
  new McpProvider({ redirect_uris: [host.url], client_name: 'MCP host', token_endpoint_auth_method: 'none' })

describe('@modelcontextprotocol/sdk 1.x', () => {
  it('gets from the address of the server to a verified delivery', async () => {
    const provider = aProvider()
    const newClient = () => new ClientV1({ name: 'test', version: '1' })
    const unauthorized = new TransportV1(server(), { authProvider: provider })
    await expect(newClient().connect(unauthorized)).rejects.toThrow('Unauthorized')
    const callback = await host.approve(provider.authorizationUrl?.href ?? '')
    await unauthorized.finishAuth(callback.searchParams.get('code') ?? '')

    const client = newClient()
    await client.connect(new TransportV1(server(), { authProvider: provider }))
    // Listing the tools makes the client compare every result with the output schema of its tool.
    expect((await client.listTools()).tools).toHaveLength(18)
    await fromNothingToADelivery((name, given = {}) => client.callTool({ name, arguments: given }), '/sdk-1')
    const { resources } = await client.listResources()
    for (const { uri } of resources) expect((await client.readResource({ uri })).contents).toHaveLength(1)
    await client.close()
  })
})

describe('@modelcontextprotocol/client 2.x', () => {
  it.each(['2026-07-28', 'legacy'] as const)(
    'gets from the address of the server to a verified delivery in the protocol %s',
    async (protocol) => {
      const provider = aProvider()
      const newClient = () =>
        new ClientV2(
          { name: 'test', version: '1' },
          { versionNegotiation: { mode: protocol === 'legacy' ? 'legacy' : { pin: protocol } } },
        )
      const unauthorized = new TransportV2(server(), { authProvider: provider })
      await expect(newClient().connect(unauthorized)).rejects.toThrow()
      await unauthorized.finishAuth((await host.approve(provider.authorizationUrl?.href ?? '')).searchParams)

      const client = newClient()
      await client.connect(new TransportV2(server(), { authProvider: provider }))
      expect((await client.listTools()).tools).toHaveLength(18)
      await fromNothingToADelivery(
        (name, given = {}) => client.callTool({ name, arguments: given }),
        `/sdk-2-${protocol}`,
      )
      await client.close()
    },
  )
})

describe('mcp for Python', () => {
  const test = hasModules('mcp.client.streamable_http', 'httpx2') ? it : it.skip
  test('gets from the address of the server to a verified delivery', async () => {
    type Said = { url: string; tools: string[]; result: unknown }
    const given = JSON.stringify({ url: server().href, redirect_uri: host.url })
    const { ask, end } = talkTo<Said>(python, ['mcp_client.py', given], PYTHON_FOLDER)
    try {
      const { href } = await host.approve((await ask()).url)
      expect((await ask(href)).tools).toHaveLength(18)
      const call: Call = async (name, given = {}) =>
        (await ask(JSON.stringify({ name, arguments: given }))).result
      await fromNothingToADelivery(call, '/python')
    } finally {
      end()
    }
  })
})

describe('MCP Inspector', () => {
  const inspector = process.env['SIGNET_INTEROP_INSPECTOR'] ?? ''
  const test = existsSync(inspector) ? it : it.skip
  test('gets from a personal token to a verified delivery', async () => {
    const person = await Person.signUp(stack.authUrl)
    const header = `Authorization: Bearer ${await person.personalToken(stack.webhooksUrl)}`
    const inspect = async (...args: string[]) => {
      const line = [inspector, '--cli', server().href, '--transport', 'http', '--header', header, ...args]
      return JSON.parse((await promisify(execFile)(process.execPath, line)).stdout) as unknown
    }
    expect(await inspect('--method', 'tools/list')).toMatchObject({ tools: { length: 18 } })
    const call: Call = (name, given = {}) => {
      const pairs = Object.entries(given).map(([key, value]) => `${key}=${String(value)}`)
      return inspect(
        '--method',
        'tools/call',
        '--tool-name',
        name,
        ...pairs.flatMap((pair) => ['--tool-arg', pair]),
      )
    }
    await fromNothingToADelivery(call, '/inspector')
  })
})
