import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { UsageError } from '../errors.js'

export type Received = {
  body: Buffer
  headers: IncomingHttpHeaders
  /** Alternating names and values, as received. */
  rawHeaders: string[]
  receivedAt: Date
}

type Options = {
  host: string
  /** 0 takes a free port. */
  port: number
  tls?: { cert: Buffer; key: Buffer } | undefined
  /** Checks the delivery and returns the HTTP status for the sender. */
  onDelivery: (received: Received) => Promise<number>
}

export type Receiver = { url: string; close: () => Promise<void> }

const LAST_ANSWERS_MS = 1000
/** Summaries are never cut, so a payload can be large. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Accepts deliveries at any path of a local address. Passes on each body as the bytes that were signed. */
export async function startReceiver({ host, port, tls, onDelivery }: Options): Promise<Receiver> {
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    void respond(request, response, onDelivery)
  }
  const server = tls ? secureServer(tls, listener) : createServer(listener)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UsageError(`Port ${port} of ${host} cannot be used (${code})`, {
      hint: 'Choose another one with --port and --host.',
      cause: error,
    })
  }
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}/`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // Gives answers in flight time to arrive, but does not wait for a sender that never reads its answer.
      setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS).unref()
      await closed
    },
  }
}

function secureServer(
  tls: { cert: Buffer; key: Buffer },
  listener: (request: IncomingMessage, response: ServerResponse) => void,
) {
  try {
    return createSecureServer(tls, listener)
  } catch (error) {
    throw new UsageError('The certificate and the key cannot be used together', {
      hint: '--tls-cert and --tls-key want PEM files that belong together.',
      cause: error,
    })
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  onDelivery: Options['onDelivery'],
): Promise<void> {
  const receivedAt = new Date()
  const { headers, rawHeaders } = request
  if (request.method !== 'POST') return end(response, 405)
  try {
    const body = await readBody(request)
    end(response, body === null ? 413 : await onDelivery({ body, headers, rawHeaders, receivedAt }))
  } catch {
    // The sender disconnected in the middle of the body. It counts that as a failure and tries again.
    response.destroy()
  }
}

/** Returns null if the body is longer than the limit, and then does not read the rest. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function end(response: ServerResponse, status: number): void {
  // No kept-alive connections: they would outlast the receiver.
  response.writeHead(status, { connection: 'close', ...(status === 405 ? { allow: 'POST' } : {}) }).end()
}
