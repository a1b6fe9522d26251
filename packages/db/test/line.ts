import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy to the cluster whose connections can go silent without closing, as if the machine had lost power. */
export async function startLine(url: string) {
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(url)
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: near } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(near) }).href,
    /** Stops all traffic on the connections that are open, but not on new ones. */
    silence<T>(work: () => Promise<T>): Promise<T> {
      for (const socket of sockets) socket.unpipe().pause()
      return work()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
