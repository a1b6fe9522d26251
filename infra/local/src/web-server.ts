import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Router } from 'express'

/** Adds the routes of a tool. */
export type Routes = (router: Router) => void

export interface Place {
  /** A free port if this is 0 or omitted. */
  port?: number
  /** Interface to listen on; 127.0.0.1 unless it runs in a container. */
  host?: string
}

const HOST = '127.0.0.1'
const MAX_BODY = '1mb'

/** Serves the pages and APIs of the local tools. Reads a plain-text body as JSON, because fetch sends JSON that way. */
export async function serve(routes: Routes, place?: Place) {
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
  const { port, ...running } = await listen(createServer(app), place)
  return { url: `http://${HOST}:${port}`, ...running }
}

export async function listen(server: Server, { port = 0, host = HOST }: Place = {}) {
  await once(server.listen(port, host), 'listening')
  return {
    port: portOf(server),
    /** Closes the server immediately, including connections that clients keep alive. */
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

export function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port
}
