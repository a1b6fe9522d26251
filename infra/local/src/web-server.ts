import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Router } from 'express'

/** Adds what a tool serves. */
export type Routes = (router: Router) => void

export interface RunningServer {
  port: number
  url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const MAX_BODY = '1mb'

/** Serves the pages and APIs of the local tools. A plain-text body is read as JSON, because fetch sends JSON as such. */
export async function serve(
  routes: Routes,
  { port = 0, host = HOST }: { port?: number; host?: string } = {},
): Promise<RunningServer> {
  const { default: express } = await import('express')
  const app = express().disable('x-powered-by').disable('etag')
  app.use(
    (_, response, next) => {
      response.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
      next()
    },
    express.json({ type: ['json', 'text/plain'], limit: MAX_BODY }),
  )
  routes(app)
  const server = app.listen(port, host)
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
