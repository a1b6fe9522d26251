import type { Api } from './api.js'

type RpcError = { code: number; message: string; data?: { code?: string } }
export type Message = {
  jsonrpc: string
  id: number | null
  result?: Record<string, unknown>
  error?: RpcError
}
type Options = { token?: string | null; headers?: Record<string, string> }

/** What every client of Streamable HTTP sends. */
const MCP_ACCEPT = { accept: 'application/json, text/event-stream' }

/** Sends a POST to /mcp with any body. */
export const post = (api: Api, raw: unknown, { token = null, headers = {} }: Options = {}) =>
  api.call('POST', '/mcp', {
    token,
    raw: typeof raw === 'string' || raw instanceof Uint8Array ? raw : JSON.stringify(raw),
    headers: { ...MCP_ACCEPT, ...headers },
  })

export const request = (method: string, params: object = {}, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

/** The first message of a client. */
export const initialize = request('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

/** Sends a request to /mcp, in the protocol of 2025, and returns the answer. */
export async function rpc(api: Api, token: string, method: string, params: object = {}): Promise<Message> {
  const reply = await post(api, request(method, params), { token })
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
  return reply.body
}

/** A tool as `tools/list` describes it. */
export type ToolDefinition = {
  name: string
  title: string
  description: string
  inputSchema: { properties: object; required: string[] }
  outputSchema: object
  annotations: Record<string, boolean>
}

export const toolsOf = async (api: Api, token: string) =>
  (await rpc(api, token, 'tools/list')).result?.['tools'] as ToolDefinition[]

export type ToolOutcome = {
  isError?: boolean
  content: { type: string; text: string }[]
  structuredContent?: Record<string, unknown>
}

/** Calls a tool without a client library. */
export async function callTool(
  api: Api,
  token: string,
  name: string,
  given: object = {},
): Promise<ToolOutcome> {
  const { result, error } = await rpc(api, token, 'tools/call', { name, arguments: given })
  if (error) throw new Error(`${error.code} ${error.message}`)
  return result as ToolOutcome
}

/** The members of the error that a tool answered with. */
export function errorOf({ isError, content, structuredContent }: ToolOutcome): Record<string, unknown> {
  if (isError !== true || structuredContent !== undefined) throw new Error('it is no error')
  return (JSON.parse(content[0]?.text ?? '') as { error: Record<string, unknown> }).error
}
