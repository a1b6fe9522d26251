import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** A mail server that acknowledges emails only when a test calls `answer`. */
export async function startSlowMailServer() {
  const ids: (string | undefined)[] = []
  const sockets: Socket[] = []
  const held = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.push(socket)
    let data: string[] | undefined
    socket.on('error', () => undefined).write('220 ready\r\n')
    createInterface(socket).on('line', (line) => {
      if (data && line !== '.') data.push(line)
      else if (data) {
        ids.push(/^message-id: *(\S+)/im.exec(data.join('\n'))?.[1])
        data = undefined
        held.add(socket)
      } else if (line.toUpperCase() === 'DATA') {
        data = []
        socket.write('354 go on\r\n')
      } else socket.write('250 ok\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  const answer = () => {
    for (const socket of held) socket.write('250 taken\r\n')
    held.clear()
  }
  return { port: String((server.address() as AddressInfo).port), ids, sockets, answer, close }
}
