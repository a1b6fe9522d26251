import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type MuteRedis = {
  url: string
  /** Whether the command that gets no answer has arrived. */
  isMute(): boolean
  close(): void
}

/** A proxy in front of the Redis at `url`. It passes everything on until a command contains `word`, and is silent after that. */
export async function startMuteRedis(url: string, word: RegExp): Promise<MuteRedis> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isMute = false
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    return socket
  }
  const server = createServer((client) => {
    const redis = keep(connect(Number(port), hostname))
    let mute = false
    keep(client).on('data', (chunk) => {
      mute ||= word.test(chunk.toString('latin1'))
      isMute ||= mute
      if (!mute) redis.write(chunk)
    })
    redis.on('data', (chunk) => client.write(chunk))
    client.once('close', () => redis.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isMute: () => isMute,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
