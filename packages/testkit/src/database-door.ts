import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'

/** A proxy to a database that closes every connection until `open` is called. */
export type DatabaseDoor = { url: string; open(): void; close(): Promise<void> }

export async function aDoorTo(databaseUrl: string): Promise<DatabaseDoor> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isOpen = false
  const server = createServer((from) => {
    if (!isOpen) return from.destroy()
    const to = connect(Number(port), hostname)
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
      one.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    open: () => void (isOpen = true),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
