import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo } from 'node:net'

export type Listener = {
  readonly port: number
  /** Takes no new connections, lets requests in flight end for `graceMs`, then breaks what is left. */
  close(graceMs?: number): Promise<void>
}

export type ListenOptions = {
  /** 0 picks a free one. */
  port: number
  /** All addresses when left out. */
  host?: string | undefined
  /** Name of the variable that an operator would have to change. */
  setting?: string
}

/** The address cannot be had. The message is for operators and names the setting. */
export class ListenError extends Error {
  override name = 'ListenError'
}

const SWEEP_MS = 20

/** Serves `handler`; resolves when connections are taken, rejects with a `ListenError`. */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const { port, host } = options
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 },
    handler,
  )
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
      // A connection that is kept alive would stay open behind its last answer, for as long as its client likes.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(timer)
    },
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'this process may not use it',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'the host name is not known',
}

function explain(error: unknown, { port, host, setting }: ListenOptions): string {
  const { code = '' } = error as { code?: string }
  const where = `port ${port}${host === undefined ? '' : ` of ${host}`}${setting === undefined ? '' : ` (${setting})`}`
  return `cannot listen on ${where}: ${REASONS[code] ?? (code || String(error))}`
}
