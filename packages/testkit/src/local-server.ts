import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalServer = {
  readonly port: number
  /** Without a slash at the end. */
  readonly origin: string
  /** Ends its connections, too. */
  readonly close: () => Promise<void>
}

/** Makes a test's own server, over TLS or not, listen on a free port of this machine. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const isTls = 'setSecureContext' in server
  return {
    port,
    origin: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
