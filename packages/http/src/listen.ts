import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { refuseBadHttp, refuseSecondHost } from './bad-http.js'
import type { Drain } from './drain.js'
import { messageClassesOf } from './express-messages.js'
import { toOriginForm } from './request-target.js'

export type Listener = {
  readonly port: number
  /** Stops accepting connections, lets requests finish for `graceMs`, then closes the rest. */
  close(graceMs?: number): Promise<void>
}

export type ListenOptions = {
  /** 0 picks a free port. */
  port: number
  /** Defaults to all addresses. */
  host?: string | undefined
  /** Names of the environment variables to mention in errors. */
  settings?: { port: string; host: string }
  /** A third of the time, in milliseconds, after which a connection is closed if its client reads nothing of an answer. */
  stallTimeoutMs?: number
  /** Once draining begins, each connection ends with the answer to its next request. */
  drain?: Drain
}

/** The address is not available. The message is for operators and names the setting. */
export class ListenError extends Error {
  override name = 'ListenError'
}

const SWEEP_MS = 20
const STALL_MS = 30_000
const MAX_STALLS = 3

/** Serves `handler`. Resolves once it accepts connections, or rejects with a `ListenError`. */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const { port, host, drain, stallTimeoutMs = STALL_MS } = options
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: 20_000,
      requestTimeout: 60_000,
      ...messageClassesOf(handler),
    },
    (req, res) => {
      if (drain?.hasBegun) res.setHeader('Connection', 'close')
      if (refuseSecondHost(req, res)) return
      toOriginForm(req)
      handler(req, res)
    },
  )
  endStalled(server, stallTimeoutMs)
  refuseBadHttp(server)
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    throw new ListenError(explain(error, options), { cause: error })
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close(graceMs = 10_000) {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      // Otherwise a keep-alive connection would stay open after its last response for as long as its client likes.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(timer)
    },
  }
}

/**
 * Ends connections whose clients read nothing for about two minutes: an answer stays in memory until it has been read, and nothing else
 * limits how long that takes. Node restarts a socket's timer whenever something is sent or received. One timeout is not enough: the
 * kernel asks for more only when a good part of what it holds has been read, which may be megabytes.
 */
function endStalled(server: Server, stallTimeoutMs: number): void {
  const stalls = new WeakMap<Socket, { left: string; count: number }>()
  server.setTimeout(stallTimeoutMs, (socket) => {
    // Between two requests the timer has a different limit, and nothing else ends the connection. During a request, the response may
    // take a while.
    const isIdle = socket.timeout !== stallTimeoutMs
    if (isIdle) return socket.destroy()
    if (socket.writableLength === 0) return stalls.delete(socket)
    const left = leftOf(socket)
    const before = stalls.get(socket)
    const count = before?.left === left ? before.count + 1 : 1
    if (count >= MAX_STALLS) return socket.destroy()
    stalls.set(socket, { left, count })
    // The timer fires only once. Otherwise it would start again only when something is sent or received.
    return socket.setTimeout(stallTimeoutMs)
  })
}

/** Changes whenever the kernel takes data, even part of one large write, which Node counts as waiting until all of it has been taken. */
function leftOf(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return [socket.bytesWritten, socket.writableLength, handle?.writeQueueSize].join(' ')
}

const PORT_REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRINUSE: 'the port is taken',
    EACCES: 'this process may not use it',
  }),
)
const HOST_REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRNOTAVAIL: 'this machine does not have the address',
    ENOTFOUND: 'the host name is not known',
    EAI_AGAIN: 'the name server did not answer',
  }),
)

function explain(error: unknown, { port, host, settings }: ListenOptions): string {
  const { code = '' } = error as { code?: string }
  const setting = HOST_REASONS.has(code) ? settings?.host : settings?.port
  const where = `port ${port}${host === undefined ? '' : ` of ${host}`}${setting === undefined ? '' : ` (${setting})`}`
  return `cannot listen on ${where}: ${HOST_REASONS.get(code) ?? PORT_REASONS.get(code) ?? (code || String(error))}`
}
