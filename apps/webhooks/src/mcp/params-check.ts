import {
  isJSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  specTypeSchemas,
  type JSONRPCRequest,
} from '@modelcontextprotocol/server'

/** The requests with params that are answered here. */
const REQUESTS = {
  initialize: specTypeSchemas.InitializeRequest,
  'server/discover': specTypeSchemas.DiscoverRequest,
  'tools/list': specTypeSchemas.ListToolsRequest,
  'tools/call': specTypeSchemas.CallToolRequest,
  'resources/list': specTypeSchemas.ListResourcesRequest,
  'resources/templates/list': specTypeSchemas.ListResourceTemplatesRequest,
  'resources/read': specTypeSchemas.ReadResourceRequest,
} as const

/**
 * Rejects params that do not have the form that the protocol requires, with a message for people. The library would answer with an
 * internal error that quotes its validator.
 */
export function checkParams(method: string, { params = {} }: JSONRPCRequest): void {
  if (!isChecked(method)) return
  const issue = validate(method, { method, params })
  if (issue) throw new ProtocolError(ProtocolErrorCode.InvalidParams, reasonOf(issue, params))
  if (method.endsWith('/list') && 'cursor' in params)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, NO_PAGES)
}

/** Every list has one page, so no cursor is ever handed out. */
const NO_PAGES = 'cursor is not known: this list has one page'

/** Whether a message reaches a tool, or the answer that there is no such tool. */
export function isCallOfTool(message: unknown): boolean {
  if (!isJSONRPCRequest(message) || message.method !== 'tools/call') return false
  const { method, params = {} } = message
  return validate('tools/call', { method, params }) === undefined
}

const NO_SUBSCRIPTIONS = 'There are no subscriptions here: what is offered does not change'

/** Refuses `subscriptions/listen`, which exists since revision 2026-07-28. The library would answer with an internal error. */
export const refusalOf = (message: unknown): Response | undefined =>
  isJSONRPCRequest(message) && message.method === 'subscriptions/listen'
    ? errorResponse(404, message.id, { code: ProtocolErrorCode.MethodNotFound, message: NO_SUBSCRIPTIONS })
    : undefined

type LibraryError = { id: unknown; error?: { code: number; data?: { envelope?: { key?: string } } } }

/**
 * Rewrites the library's errors about invalid members of `_meta`. The library checks those before it creates a server, and quotes its
 * validator.
 */
export async function inWordsForPeople(response: Response): Promise<Response> {
  if (response.status !== 400) return response
  const { id, error } = (await response.clone().json()) as LibraryError
  const key = error?.data?.envelope?.key
  if (error === undefined || key === undefined) return response
  return errorResponse(400, id, {
    code: error.code,
    message: `${key} in _meta is missing or does not have the required form`,
  })
}

const errorResponse = (status: number, id: unknown, error: { code: number; message: string }): Response =>
  Response.json({ jsonrpc: '2.0', id, error }, { status })

/** Returns the first problem. */
function validate(method: keyof typeof REQUESTS, request: object): Issue | undefined {
  const { issues = [] } = REQUESTS[method]['~standard'].validate(request)
  return issues[0]
}

const isChecked = (method: string): method is keyof typeof REQUESTS => Object.hasOwn(REQUESTS, method)

type Issue = { path?: readonly unknown[] | undefined; expected?: unknown }

function reasonOf({ path = [], expected }: Issue, params: object): string {
  const members = path.slice(1).map(String)
  const name = members.length === 0 ? 'params' : members.join('.').slice(0, 64)
  if (valueAt(params, members) === undefined) return `${name} is required`
  const type = TYPES.get(String(expected))
  return type === undefined ? `${name} does not have the required form` : `${name} must be ${type}`
}

const valueAt = (value: unknown, members: readonly string[]): unknown =>
  members.reduce<unknown>(
    (found, member) =>
      typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[member] : undefined,
    value,
  )

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: 'a string',
    number: 'a number',
    boolean: 'true or false',
    object: 'an object',
    record: 'an object',
    array: 'a list',
  }),
)
