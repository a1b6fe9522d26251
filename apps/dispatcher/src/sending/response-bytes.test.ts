import { once } from 'node:events'
import { createServer as createSecureServer } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { createAuthority, issueCertificate } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { post } from './http-sender.js'
import { MAX_RESPONSE_BYTES, ResponseReader } from './response-bytes.js'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const answered = (status: number) => ({ kind: 'answered', status })

/** A socket that has received these bytes. */
function received(bytes: Buffer) {
  let unread: Buffer | null = bytes
  const socket = {
    destroyed: false,
    errors: [] as unknown[],
    read(): Buffer | null {
      const all = unread
      unread = null
      return all
    },
    destroy(error?: Error) {
      socket.destroyed = true
      socket.errors.push(error)
      return socket
    },
  }
  new ResponseReader(socket as never).expectResponse()
  return socket
}

describe('what the parser gets of a response', () => {
  const large = Buffer.alloc(10_000, 'x')

  it('is everything, in small pieces', () => {
    const socket = received(large)
    const pieces: Buffer[] = []
    for (let piece = socket.read(); piece !== null; piece = socket.read()) pieces.push(piece)
    expect(Buffer.concat(pieces)).toEqual(large)
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(1024)
    expect(socket.destroyed).toBe(false)
  })

  it('ends where it closes the connection, as it does behind 16 KiB of fields', () => {
    const socket = received(large)
    expect(socket.read()).not.toBeNull()
    socket.destroy()
    expect(socket.read()).toBeNull()
  })

  it('is limited, interim responses included', () => {
    const socket = received(Buffer.from(CONTINUE.repeat(MAX_RESPONSE_BYTES / CONTINUE.length + 1) + OK))
    expect(socket.read()).toBeNull()
    expect(socket.errors).toMatchObject([{ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' }])
  })
})

describe('a receiver that sends interim responses', () => {
  const opened: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of opened.splice(0).toReversed()) await close()
  })

  /** Answers every request on a connection with pieces, each sent after the one before has left. */
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
      // Waits for one turn of the event loop, so that pieces tend to arrive one by one.
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
    [
      'more interim responses than anybody needs',
      Array.from({ length: 100 }, () => CONTINUE.repeat(100)),
      'invalid_response',
    ],
    ['a reason without end', [`HTTP/1.1 200 ${'x'.repeat(100_000)}`], 'invalid_response'],
    ['no status line', ['HTTP/1.1 1000 Many\r\n\r\n'], 'invalid_response'],
  ])('fails with %s', async (_, pieces, error) => {
    const { url } = await receiver(() => pieces)
    expect((await sender()(url)).result).toEqual({ kind: 'failed', error })
  })

  it.each<[string, string]>([
    ['chunk extension', `1;${'x'.repeat(100_000)}`],
    ['list of trailers', `0\r\n${'a:\r\n'.repeat(30_000)}`],
  ])('is not read for long when it sends a %s without end', async (_, end) => {
    const { url, sockets } = await receiver(() => [CHUNKED + end])
    expect((await sender()(url)).result).toEqual(answered(200))
    await waitFor(() => sockets.every(({ destroyed }) => destroyed))
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
