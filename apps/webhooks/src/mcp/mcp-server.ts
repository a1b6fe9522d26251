import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type JSONRPCRequest,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { isAppError, type AppError } from '@signet/errors'
import { contextOf, statusOf } from '@signet/http'
import type { Response } from 'express'
import type { Caller } from '../bearer/bearer-service.js'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'
import type { RateLimit } from '../limits/limits.js'
import type { OpenAnswers } from '../limits/open-answers.js'
import type { McpObserver } from '../observers/mcp-observer.js'
import { service } from '../version.js'
import { listedResources, readResource, resourceTemplates } from './event-resources.js'
import { checkParams } from './params-check.js'
import type { Tool } from './tool.js'
import { isLong, toolError } from './tool-result.js'

export type McpServerDeps = {
  tools: ReadonlyMap<string, Tool>
  /** How often an account may call /v1. Messages count against this limit. */
  limit: RateLimit
  /** How many long results an account may be reading. */
  results: OpenAnswers
  observer: McpObserver
  /** The same as in the error handler of /v1. */
  translate: (error: unknown) => AppError | undefined
}
type CallRequest = { name: string; arguments?: Record<string, unknown> | undefined }

const INSTRUCTIONS = `Signet sends events of recordings, such as summary.completed, to webhooks as signed HTTPS requests.
From nothing to a verified delivery: create_webhook with an https url and the event types, and give its secret to the receiver, for it is shown only once; test_webhook; then list_deliveries and get_delivery until status is 1.
The resource signet://events describes the event types.`

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>

class CheckedServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler)
    return async (request, context) => {
      checkParams(method, request)
      return wrapped(request, context)
    }
  }
}

/** The server of one request, for its caller. Nothing is kept between requests, so any replica can answer each of them. */
export function mcpServer(deps: McpServerDeps, caller: Caller, res: Response): Server {
  const server = new CheckedServer(
    { name: service.name, title: 'Signet webhooks', version: service.version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  )
  // The HTTP response contains a response to each request. If another message of the same batch could cancel a request, its response
  // would never come.
  server.removeNotificationHandler('notifications/cancelled')
  const definitions = [...deps.tools.values()].map(({ definition }) => definition)
  server.setRequestHandler('tools/list', () => ({ tools: definitions }))
  server.setRequestHandler('tools/call', ({ params }) => callTool(deps, caller, res, params))
  server.setRequestHandler('resources/list', () => ({ resources: listedResources }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const found = readResource(uri)
    if (!found)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource ${uri.slice(0, 200)}`)
    return { contents: [found] }
  })
  return server
}

async function callTool(
  { tools, limit, results, observer, translate }: McpServerDeps,
  caller: Caller,
  res: Response,
  { name, arguments: given = {} }: CallRequest,
): Promise<CallToolResult> {
  const startedAt = performance.now()
  const finished = (error?: { code: string; cause?: unknown }) =>
    observer.toolCalled(
      {
        tool: tools.has(name) ? name : 'unknown',
        accountId: caller.accountId,
        durationMs: performance.now() - startedAt,
        ...(error && { error }),
      },
      contextOf(res),
    )
  try {
    const call = await prepare(tools, { name, given }, () => limit.consume(caller.accountId))
    const result = await call(res)
    // A client that does not read keeps its results in memory, which a limit on calls per minute does not bound.
    if (isLong(result)) results.admit(caller.accountId, contextOf(res).end)
    finished()
    return result
  } catch (thrown) {
    if (thrown instanceof ProtocolError) {
      finished({ code: 'unknown_tool' })
      throw thrown
    }
    const error = isAppError(thrown) ? thrown : (translate(thrown) ?? v1ErrorRenderer.unexpected(thrown))
    finished({ code: error.code, ...(statusOf(error) >= 500 ? { cause: error.cause ?? error } : {}) })
    return toolError(error, res.req)
  }
}

/** Counts a call that fails before it reaches its route. The route counts all others. */
async function prepare(
  tools: McpServerDeps['tools'],
  { name, given }: { name: string; given: Record<string, unknown> },
  count: () => Promise<void>,
): Promise<ReturnType<Tool['prepare']>> {
  try {
    const tool = tools.get(name)
    if (!tool)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 64)}`)
    return tool.prepare(given)
  } catch (error) {
    await count()
    throw error
  }
}
