import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type TcpProxy = {
  port: number
  /** From now on no byte passes, and nobody is told: what a lost route looks like from both ends. */
  cut(): void
  /** Bytes flow again, those of connections that were open all along included. */
  heal(): void
  close(): void
}

/** A TCP proxy on 127.0.0.1 whose line can be cut. */
export async function startTcpProxy(targetPort: () => number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  }
  const pair = (client: Socket) => {
    keep(client)
    const server = connect(targetPort(), '127.0.0.1')
    keep(server)
    client.once('close', () => server.destroy())
    server.once('close', () => client.destroy())
    client.on('data', (chunk) => server.write(chunk))
    server.on('data', (chunk) => client.write(chunk))
    if (isCut) for (const socket of [client, server]) socket.pause()
  }
  const proxy = createServer(pair)
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    cut() {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    heal() {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
