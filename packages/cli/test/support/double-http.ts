import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenLocally } from '@signet/testkit'

export type Seen = {
  method: string
  path: string
  url: URL
  headers: IncomingMessage['headers']
  body: string
}
export type Answer = { status?: number; reason?: string; body?: unknown; headers?: Record<string, string> }
export type Handler = (request: Seen) => Answer | Promise<Answer>

export type DoubleServer = { url: string; seen: Seen[]; close: () => Promise<void> }

/** Starts a server that records each request and sends the answer of `handler`. */
export async function startDouble(handler: Handler): Promise<DoubleServer> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const entry = await read(request)
      seen.push(entry)
      write(response, await handler(entry))
    })()
  })
  const { origin: url, close } = await listenLocally(server)
  return { url, seen, close }
}

async function read(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const url = new URL(request.url ?? '/', 'http://double')
  return {
    method: request.method ?? '',
    path: url.pathname,
    url,
    headers: request.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  }
}

function write(response: ServerResponse, { status = 200, reason, body, headers }: Answer): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, reason, { 'content-type': 'application/json', ...headers }).end(text)
}
