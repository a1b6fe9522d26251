import type { Server } from 'node:http'
import { listen } from '@signet/local'

export type LocalServer = {
  readonly port: number
  /** Without a trailing slash. */
  readonly origin: string
  /** Also ends the open connections. */
  readonly close: () => Promise<void>
}

/**
 * Makes a test's own server, over TLS or not, listen on a free port of this machine. Only the client ends idle connections: on a busy
 * machine, the server could do so just when a request is sent.
 */
export async function listenLocally(server: Server): Promise<LocalServer> {
  server.keepAliveTimeout = 0
  const { port, close } = await listen(server)
  return { port, origin: `${'setSecureContext' in server ? 'https' : 'http'}://127.0.0.1:${port}`, close }
}
