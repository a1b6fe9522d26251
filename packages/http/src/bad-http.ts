import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The statuses of requests that were refused on the connection itself, with nothing but a status. */
const refused = new WeakMap<ServerResponse, number>()

/** The status that the client got instead of this response because it then sent something that is not HTTP. */
export const refusedStatusOf = (res: ServerResponse): number | undefined => refused.get(res)

const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: 431,
    HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
    CONNECT: 405,
  }),
)

/**
 * Refuses input that is not HTTP, as Node does by default, and remembers the status, so that the request's log line shows what its
 * client saw. Complete requests received before it are answered first, but those before a CONNECT are lost.
 */
export function refuseBadHttp(server: Server): void {
  const refusing = new WeakSet<Socket>()
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket
    // Each further chunk on such a connection raises the error again.
    if (refusing.has(socket)) return
    refusing.add(socket)
    refuse(socket, error)
  })
  server.on('connect', ({ method: code = '' }, stream) => {
    const socket = stream as Socket
    const error = Object.assign(new Error('no proxy'), { code })
    socket.on('error', () => undefined)
    // Node has removed its listeners from the connection, so the answer could no longer time out, continue when there is room, or be
    // shut down.
    if (answerInTurn(socket)) socket.destroy(error)
    else end(socket, error)
  })
}

/**
 * Refuses a request with more than one Host (RFC 9112 section 3.2), and everything that follows on its connection: Node uses the first
 * Host, and a proxy in front of it may use another. Returns true if it refused the request.
 */
export function refuseSecondHost({ rawHeaders, socket }: IncomingMessage, res: ServerResponse): boolean {
  if (ending.has(socket)) return true
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === HOST.length && name.toLowerCase() === HOST) hosts += 1
  }
  if (hosts <= 1) return false
  ending.add(socket)
  res.writeHead(400, { Connection: 'close', 'Content-Length': '0' }).end()
  return true
}

const HOST = 'host'
/** Connections that end after such a refusal. */
const ending = new WeakSet<Socket>()

function refuse(socket: Socket, error: NodeJS.ErrnoException): void {
  const answer = answerInTurn(socket)
  if (!socket.writable || answer === undefined) return end(socket, error)
  // Only the newest request can be incomplete. If this one is, the error is about its body.
  if (answer.req.complete || answer.writableEnded)
    return void answer.once('close', () => refuse(socket, error))
  if (!answer.headersSent) refused.set(answer, statusOf(error))
  end(socket, error)
}

/** The answer that is being sent, or will be sent next. */
const answerInTurn = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

function end(socket: Socket, error: NodeJS.ErrnoException): void {
  // In the middle of an answer, the client would read the status line as part of that answer.
  if (socket.writable && !answerInTurn(socket)?.headersSent) {
    const status = statusOf(error)
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`)
  }
  socket.destroy(error)
}

const statusOf = ({ code = '' }: NodeJS.ErrnoException): number => STATUSES.get(code) ?? 400
