import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a handler gets; `params` are the groups of its path pattern. */
export interface SmallRequest {
  params: Record<string, string>
  query: URLSearchParams
  body: () => Promise<Buffer>
}

export interface SmallResponse {
  status?: number
  type?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

export type SmallRoute = [
  method: string,
  path: RegExp,
  handle: (request: SmallRequest) => SmallResponse | Promise<SmallResponse>,
]

export interface RunningServer {
  port: number
  url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

export const json = (value: unknown, status = 200): SmallResponse => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
})

export const html = (body: string): SmallResponse => ({ type: 'text/html; charset=utf-8', body })

/** A tiny HTTP server for the pages and APIs of the local tools; it has no framework to keep the starter light. */
export async function serve(
  routes: readonly SmallRoute[],
  { port = 0, host = HOST }: { port?: number; host?: string } = {},
): Promise<RunningServer> {
  const server = createServer((request, response) => {
    respond(routes, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  server.listen(port, host)
  await once(server, 'listening')
  const bound = portOf(server)
  return { port: bound, url: `http://${HOST}:${bound}`, close: () => closeServer(server) }
}

export function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port
}

/** Ends the server at once, also the connections that clients keep alive. */
export async function closeServer(server: Pick<Server, 'close' | 'closeAllConnections'>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function respond(
  routes: readonly SmallRoute[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://local')
  for (const [method, path, handle] of routes) {
    const match = method === request.method && path.exec(url.pathname)
    if (!match) continue
    const answer = await handle({
      params: { ...match.groups },
      query: url.searchParams,
      body: () => readBody(request),
    })
    response.writeHead(answer.status ?? 200, {
      ...(answer.type && { 'content-type': answer.type }),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...answer.headers,
    })
    response.end(answer.body)
    return
  }
  response.writeHead(404, { 'content-type': 'text/plain' }).end('There is nothing here.\n')
}
