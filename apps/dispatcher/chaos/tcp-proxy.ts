import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type TcpProxy = {
  port: number
  /** Stops all bytes without telling either end, as when a route is lost. */
  cut(): void
  /** Lets bytes flow again, also on connections that stayed open. */
  heal(): void
  /** Lets the next request that contains `words` pass, but withholds all answers on its connection. Resolves once they end with `end`. */
  keepAnswer(words: string, end: Buffer): Promise<void>
  close(): void
}

type Watch = { words: string; end: Buffer; seen: () => void }

/** Starts a TCP proxy on 127.0.0.1 whose line can be cut. */
export async function startTcpProxy(targetPort: () => number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  let watch: Watch | undefined
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
    let kept: Watch | undefined
    let answer = Buffer.alloc(0)
    client.on('data', (chunk) => {
      if (watch && chunk.includes(watch.words)) [kept, watch] = [watch, undefined]
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!kept) return client.write(chunk)
      answer = Buffer.concat([answer, chunk])
      if (answer.subarray(-kept.end.length).equals(kept.end)) kept.seen()
    })
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
    keepAnswer: (words, end) =>
      new Promise((resolve) => {
        watch = { words, end, seen: resolve }
      }),
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
