import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { post } from './http-sender.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Starts a receiver that calls `answer` with its first connection once a request has come. */
async function start(answer: (socket: Socket) => void): Promise<{ port: number; closed: Promise<unknown> }> {
  const server: Server = createServer()
  const closed = once(server, 'connection').then(async ([socket]: Socket[]) => {
    socket?.on('error', () => undefined).once('data', () => socket && answer(socket))
    if (socket) await once(socket, 'close')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close())
  return { port: (server.address() as AddressInfo).port, closed }
}

describe('an exchange that is given up', () => {
  it.each<[string, (socket: Socket) => void, number]>([
    ['no response comes in time', () => undefined, 200],
    ['its response does not end in time', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nx'), 200],
    [
      'its response is too long',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(17 * 1024)}`),
      60_000,
    ],
    [
      'its response changes the protocol',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      60_000,
    ],
  ])('opens no other connection when %s', async (_, answer, limitMs) => {
    const receiver = await start(answer)
    let opened = 0
    const resolver = () => {
      opened += 1
      return Promise.resolve([{ address: '127.0.0.1', family: 4 } as const])
    }
    const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true, resolver }) })
    cleanups.push(() => agent.destroy())
    const url = new URL(`http://hook.example.com:${receiver.port}/`)
    const exchange = post(agent, { url, headers: {}, body: Buffer.from('{}') }, limitMs)
    await exchange.closed
    // By then the client has acted on the end of its own side of the connection.
    await receiver.closed
    expect(opened).toBe(1)
  })
})
