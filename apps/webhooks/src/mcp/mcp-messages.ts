import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from '@modelcontextprotocol/server'
import type { Answer, RequestContext } from '@signet/http'
import type { Request as HttpRequest, Response as HttpResponse } from 'express'
import type { Caller } from '../bearer/bearer-service.js'
import { badRequest } from '../errors/api-errors.js'
import { mcpServer, type McpServerDeps } from './mcp-server.js'
import { notJson, sortOut, type Rejection } from './message-check.js'
import { inWordsForPeople, isCallOfTool, refusalOf } from './params-check.js'

export type McpMessageDeps = McpServerDeps & {
  /** URL of the MCP server. */
  url: string
}

type Call = { caller: Caller; body: Buffer; req: HttpRequest; res: HttpResponse; context: RequestContext }

const MAX_BATCH = 20
/** The only revision with batches. It did not have the header yet. */
const BATCH_REVISION = '2025-03-26'

/** Answers the body of a request, which is a message or a batch of messages. */
export async function answerMessage(
  deps: McpMessageDeps,
  { caller, body, req, res, context }: Call,
): Promise<Answer> {
  const message = parsed(body)
  checkBatch(message, req)
  await countMessages(message, () => deps.limit.consume(caller.accountId))
  if (message === undefined) return notJson
  const { rest, rejections } = sortOut(message)
  if (rest.length === 0) return rejections.length > 0 ? inBody(message, rejections) : { status: 202 }
  const request = new Request(deps.url, { method: 'POST', headers: headersOf(req), body })
  const response = await exchange(
    request,
    Array.isArray(message) ? rest : message,
    () => mcpServer(deps, caller, res),
    reporter(deps, context),
  )
  return answerOf(response, message, rejections)
}

/** Returns undefined if the body is not JSON. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

function checkBatch(message: unknown, req: HttpRequest): void {
  if (!Array.isArray(message)) return
  const revision = req.get('mcp-protocol-version') ?? BATCH_REVISION
  if (revision !== BATCH_REVISION) throw badRequest(`Protocol version ${revision} has no batches`)
  if (message.length > MAX_BATCH) throw badRequest(`A batch may have at most ${MAX_BATCH} messages`)
  // Each message would run, and only one would get an answer.
  const ids = message.flatMap(idOf)
  if (new Set(ids).size < ids.length) throw badRequest('Two messages of a batch have the same id')
}

const idOf = (message: unknown): unknown[] =>
  typeof message === 'object' && message !== null && 'id' in message ? [message.id] : []

/** Every message counts as a request to the API. Routes count the tool calls that reach them; this counts all other messages. */
async function countMessages(message: unknown, count: () => Promise<void>): Promise<void> {
  const messages: unknown[] = Array.isArray(message) ? message : [message]
  for (const one of messages) if (!isCallOfTool(one)) await count()
}

const FORWARDED = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** The headers of the transport. The library never gets a credential. */
const headersOf = (req: HttpRequest): [string, string][] =>
  FORWARDED.flatMap((name) => {
    const value = name === 'accept' && acceptsAnswers(req) ? ACCEPTED : req.get(name)
    return value === undefined ? [] : [[name, value]]
  })

/** The library looks for both types by name, but wildcards and other spellings accept them too (RFC 9110 section 12.5.1). */
const acceptsAnswers = (req: HttpRequest): boolean =>
  ACCEPTED.split(', ').every((type) => req.accepts(type) !== false)

const ACCEPTED = 'application/json, text/event-stream'

const reporter =
  ({ observer }: McpMessageDeps, context: RequestContext) =>
  (error: Error): void =>
    observer.protocolError(error, context)

/** Handles both generations of the protocol: since 2026, each message says who sends it; before, there was a handshake. */
async function exchange(
  request: Request,
  message: unknown,
  newServer: () => Server,
  onerror: (error: Error) => void,
): Promise<Response> {
  if (!(await isLegacyRequest(request, message))) {
    const handler = createMcpHandler(newServer, { legacy: 'reject', maxSubscriptions: 0, onerror })
    return refusalOf(message) ?? inWordsForPeople(await handler.fetch(request, { parsedBody: message }))
  }
  const server = newServer()
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  server.onerror = onerror
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody: message })
  } finally {
    await server.close()
  }
}

async function answerOf(response: Response, message: unknown, rejections: Rejection[]): Promise<Answer> {
  const { ok, status, headers } = response
  const body = await response.text()
  const type = headers.get('content-type')
  if (ok && Array.isArray(message)) {
    const answers = body === '' ? [] : [JSON.parse(body) as unknown].flat()
    if (answers.length + rejections.length > 0) return inBody(message, [...answers, ...rejections])
  }
  return body === '' || type === null ? { status } : { status, headers: { 'Content-Type': type }, body }
}

/** Puts the responses to a batch into an array, even if there is only one, which the library would send alone (JSON-RPC 2.0, section 6). */
const inBody = (message: unknown, answers: unknown[]): Answer => ({
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(Array.isArray(message) ? answers : answers[0]),
})
