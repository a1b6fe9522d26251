import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { freezeTimeouts } from '@signet/testkit'
import { post, type Exchange } from './http-sender.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type TestReceiver = { port: number; asked: Promise<unknown>; closed: Promise<unknown> }

/** Starts a receiver that calls `answer` with its first connection once a request has come. */
async function start(answer: (socket: Socket) => void): Promise<TestReceiver> {
  const server: Server = createServer()
  const connection = once(server, 'connection') as Promise<[Socket]>
  const asked = connection.then(async ([socket]) => {
    await once(socket, 'data')
    answer(socket)
  })
  const closed = connection.then(([socket]) =>
    once(
      socket.on('error', () => undefined),
      'close',
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close())
  return { port: (server.address() as AddressInfo).port, asked, closed }
}

const LIMIT_MS = 1
/** Waits for what the sender sees before its time is up. With null, the exchange ends before that. */
type Seen = (exchange: Exchange, receiver: TestReceiver) => Promise<unknown>

describe('an exchange that is given up', () => {
  it.each<[string, (socket: Socket) => void, Seen | null]>([
    ['no response comes in time', () => undefined, (_, receiver) => receiver.asked],
    [
      'its response does not end in time',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nx'),
      (exchange) => exchange.answered,
    ],
    [
      'its response is too long',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(17 * 1024)}`),
      null,
    ],
    [
      'its response changes the protocol',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      null,
    ],
  ])('opens no other connection when %s', async (_, answer, seenInTime) => {
    const timeouts = freezeTimeouts()
    cleanups.push(() => timeouts.thaw())
    const receiver = await start(answer)
    let opened = 0
    const resolver = () => {
      opened += 1
      return Promise.resolve([{ address: '127.0.0.1', family: 4 } as const])
    }
    const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true, resolver }) })
    cleanups.push(() => agent.destroy())
    const url = new URL(`http://hook.example.com:${receiver.port}/`)
    const exchange = post(agent, { url, headers: {}, body: Buffer.from('{}') }, LIMIT_MS)
    if (seenInTime) {
      await seenInTime(exchange, receiver)
      timeouts.advance(LIMIT_MS)
    }
    await exchange.closed
    // By then the client has acted on the end of its own side of the connection.
    await receiver.closed
    expect(opened).toBe(1)
  })
})
