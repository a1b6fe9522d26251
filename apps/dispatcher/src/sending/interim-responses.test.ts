import { once } from 'node:events'
import { createServer as createSecureServer } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { createAuthority, issueCertificate } from '@signet/local'
import { post } from './http-sender.js'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const answered = (status: number) => ({ kind: 'answered', status })

describe('a receiver that sends interim responses', () => {
  const opened: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of opened.splice(0).toReversed()) await close()
  })

  /** Answers every request on a connection with pieces, each of them after the one before has left. */
  async function receiver(pieces: (request: number) => readonly string[]) {
    const sockets: Socket[] = []
    const server: Server = createServer((socket) => {
      sockets.push(socket)
      socket.setNoDelay(true).on('error', () => undefined)
      let requests = 0
      socket.on('data', () => {
        requests += 1
        void writeEach(socket, pieces(requests))
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(
      () => server.close(),
      () => sockets.forEach((socket) => socket.destroy()),
    )
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets }
  }

  async function writeEach(socket: Socket, pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) {
      await new Promise((resolve) => socket.write(piece, resolve))
      // A turn of the event loop, so that pieces tend to arrive one by one.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  function sender(ca?: string) {
    const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true }), ca })
    opened.push(() => agent.destroy())
    return async (url: string) => {
      const exchange = post(agent, { url: new URL(url), headers: {}, body: Buffer.from('{}') }, 30_000)
      const result = await exchange.answered
      await exchange.closed
      return { result, excerpt: exchange.excerpt() }
    }
  }

  it.each<[string, readonly string[]]>([
    ['100 Continue', [CONTINUE, OK]],
    ['100 Continue in the same packet', [CONTINUE + OK]],
    ['100 Continue with a header', ['HTTP/1.1 100 Continue\r\nServer: x\r\n\r\n', OK]],
    ['100 without a reason', ['HTTP/1.1 100\r\n\r\n', OK]],
    ['102, 103 and 100, twice', ['HTTP/1.1 102 Processing\r\n\r\n', HINTS, CONTINUE, CONTINUE + OK]],
    ['every byte by itself', [...(HINTS + CONTINUE + OK)]],
  ])('gets a success for %s and then 200', async (_, pieces) => {
    const { url } = await receiver(() => pieces)
    expect(await sender()(url)).toEqual({ result: answered(200), excerpt: 'ok' })
  })

  it('keeps its connection, before and after which responses are whole', async () => {
    const { url, sockets } = await receiver((request) => (request % 2 === 0 ? [CONTINUE, OK] : [OK]))
    const send = sender()
    for (let sent = 0; sent < 6; sent += 1) expect((await send(url)).excerpt).toBe('ok')
    expect(sockets.length).toBeLessThan(6)
  })

  it('has no more than the time limit for all of them', async () => {
    const { url } = await receiver(() => Array.from({ length: 1000 }, () => CONTINUE))
    const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true }) })
    opened.push(() => agent.destroy())
    const exchange = post(agent, { url: new URL(url), headers: {}, body: Buffer.from('{}') }, 300)
    expect(await exchange.answered).toEqual({ kind: 'failed', error: 'timeout' })
    await exchange.closed
  })

  it.each<[string, readonly string[], unknown]>([
    [
      'an interim response without end',
      [`HTTP/1.1 100 Continue\r\nx: ${'x'.repeat(20_000)}`],
      'invalid_response',
    ],
    ['no status line', ['HTTP/1.1 1000 Many\r\n\r\n'], 'invalid_response'],
  ])('fails with %s', async (_, pieces, error) => {
    const { url } = await receiver(() => pieces)
    expect((await sender()(url)).result).toEqual({ kind: 'failed', error })
  })

  it('are not a 101 that nobody asked for: it is the answer, and its time is kept', async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'
    const { url } = await receiver(() => [upgrade])
    const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true }) })
    opened.push(() => agent.destroy())
    const exchange = post(agent, { url: new URL(url), headers: {}, body: Buffer.from('{}') }, 5000)
    expect(await exchange.answered).toEqual(answered(101))
    await exchange.closed
    expect(exchange.facts().first_byte).toBeGreaterThan(0)
  })

  it('may be a server of Node.js behind TLS', async () => {
    const authority = await createAuthority()
    const { cert, key } = await issueCertificate(authority)
    const server = createSecureServer({ cert, key }, (request, response) => {
      response.writeContinue()
      response.writeProcessing()
      response.writeEarlyHints({ link: '</a>; rel=preload' })
      request.resume().on('end', () => response.end('ok'))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(() => server.close())
    const { port } = server.address() as AddressInfo
    expect(await sender(authority.cert)(`https://localhost:${port}/`)).toEqual({
      result: answered(200),
      excerpt: 'ok',
    })
  })
})
