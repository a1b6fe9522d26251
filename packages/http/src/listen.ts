import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo } from 'node:net'

export type Listener = {
  readonly port: number
  /** Takes no new connections, lets requests in flight end for `graceMs`, then breaks what is left. */
  close(graceMs?: number): Promise<void>
}

const SWEEP_MS = 20

/** Serves `handler` on `port` (0 picks a free one); resolves when connections are taken. */
export async function listen(
  handler: RequestListener,
  { port, host }: { port: number; host?: string | undefined },
): Promise<Listener> {
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 },
    handler,
  )
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close(graceMs = 10_000) {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      // A connection that is kept alive would stay open behind its last answer, for as long as its client likes.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(timer)
    },
  }
}
