import { once } from 'node:events'
import { request as send, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express from 'express'
import { docs } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { listen, type Listener } from './listen.js'
import { errorHandler, mountRoutes, requestContext, route, type BodySoFar, type BodySpec } from './index.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const MAX_BYTES = 1_000_000
const JSON_TEXT = JSON.stringify({ text: 'x'.repeat(500_000) })

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** Starts a server that answers with the length of a body. Returns a function that begins requests; the test sends the bodies. */
async function aServer(makeRoom?: BodySpec['makeRoom'], as: BodySpec['as'] = 'json-bytes') {
  const app = express()
  const log = createLogger({ level: 'error', component: 'api', sink: () => undefined })
  app.use(requestContext({ log, registry: createRegistry({ runtime: false }) }))
  const echo = route<undefined, Buffer>({
    method: 'post',
    path: '/',
    docs,
    body: { as, maxBytes: MAX_BYTES, ...(makeRoom ? { makeRoom } : {}) },
    handle: ({ body }) => ({ status: 200, body: { length: body.length } }),
  })
  mountRoutes(app, [echo], { errorRenderer })
  app.use(errorHandler({ errorRenderer }))
  const server: Listener = await listen(app, { port: 0, host: '127.0.0.1' })
  open.push({ close: () => server.close(0) })
  const post = (headers: Record<string, string> = {}): ClientRequest => {
    const request = send(`http://127.0.0.1:${server.port}/`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    })
    request.on('error', () => undefined)
    open.push({ close: () => request.destroy() })
    return request
  }
  return Object.assign(post, { port: server.port })
}

async function answerTo(request: ClientRequest): Promise<[number | undefined, string]> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return [response.statusCode, await text(response)]
}

describe('a body that is read as bytes', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('is decompressed, and counts as what comes out: %s', async (encoding, compress) => {
    let counted = 0
    const request = (await aServer(({ bytes }) => void (counted = bytes)))({ 'content-encoding': encoding })
    request.end(compress(JSON_TEXT))
    expect(await answerTo(request)).toEqual([200, JSON.stringify({ length: JSON_TEXT.length })])
    expect(counted).toBe(JSON_TEXT.length)
  })

  it.each([
    ['too long once it is decompressed', 'gzip', gzipSync('x'.repeat(MAX_BYTES + 1)), 413],
    ['not what its encoding says', 'gzip', Buffer.from(JSON_TEXT), 400],
    ['compressed in an unknown way', 'lzw', Buffer.from(JSON_TEXT), 400],
    ['compressed in a way named like what all objects have', 'constructor', Buffer.from(JSON_TEXT), 400],
  ])('is refused if it is %s', async (_, encoding, body, status) => {
    const request = (await aServer())({ 'content-encoding': encoding })
    request.end(body)
    expect((await answerTo(request))[0]).toBe(status)
  })

  it.each([
    ['with a length', { 'content-length': String(MAX_BYTES + 1) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('is taken to the byte, and one byte more is 413: %s', async (_, headers: Record<string, string>) => {
    const request = (await aServer())(headers)
    request.end(Buffer.alloc(MAX_BYTES + 1, ' '))
    expect((await answerTo(request))[0]).toBe(413)
  })

  it.each([false, true])('is read no further until there is room; compressed: %p', async (isCompressed) => {
    let make = () => undefined as void
    const steps: number[] = []
    const request = (
      await aServer(({ bytes }) => {
        steps.push(bytes)
        return new Promise((resolve) => (make = resolve))
      })
    )(isCompressed ? { 'content-encoding': 'gzip' } : {})
    request.end(isCompressed ? gzipSync(JSON_TEXT) : JSON_TEXT)
    let isAnswered = false
    const answer = answerTo(request).finally(() => (isAnswered = true))
    let seen = 0
    while (!isAnswered) {
      await new Promise(setImmediate)
      expect(steps.length - seen).toBeLessThanOrEqual(1)
      seen = steps.length
      make()
    }
    expect((await answer)[0]).toBe(200)
    expect(steps.at(-1)).toBe(JSON_TEXT.length)
    expect(steps.length).toBeGreaterThan(2)
  })

  it('is refused by what fails while room is made for it, and others are read', async () => {
    let requests = 0
    const post = await aServer(() => {
      requests += 1
      if (requests === 1) throw new AppError('limited', 'no_room', 'No room')
      return undefined
    })
    for (const status of [429, 200]) {
      const request = post()
      request.end('{}')
      expect((await answerTo(request))[0]).toBe(status)
    }
  })

  it('is refused as soon as it is too long, while the rest of it is awaited', async () => {
    const request = (await aServer())({ 'transfer-encoding': 'chunked' })
    request.write(Buffer.alloc(MAX_BYTES + 1, ' '))
    expect((await answerTo(request))[0]).toBe(413)
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)(
    'is refused if more follows its end, and leaves the connection usable: %s',
    async (encoding, compress) => {
      const { port } = await aServer()
      const socket = connect(port, '127.0.0.1')
      open.push({ close: () => socket.destroy() })
      const post = (body: Buffer, head = '') => {
        socket.write(`POST / HTTP/1.1\r\nhost: api\r\ncontent-type: application/json\r\n${head}`)
        socket.write(`content-length: ${body.length}\r\n\r\n`)
        socket.write(body)
      }
      // More than a server reads ahead.
      const rest = Buffer.alloc(500_000, 'x')
      post(Buffer.concat([compress(JSON_TEXT), rest]), `content-encoding: ${encoding}\r\n`)
      post(Buffer.from('{}'))
      let answers = ''
      const statuses = () => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
      for await (const chunk of socket) {
        answers += String(chunk)
        if (statuses().length === 2) break
      }
      expect(statuses()).toEqual(['400', '200'])
    },
  )

  const noRoom = () => new AppError('unavailable', 'unavailable', 'no room')

  it('is refused where there is no room', async () => {
    const request = (await aServer(() => Promise.reject(noRoom())))()
    request.end(JSON_TEXT)
    expect((await answerTo(request))[0]).toBe(503)
  })

  it('awaits its client only while there is room', async () => {
    let arrived = (_: BodySoFar) => undefined as void
    let make = () => undefined as void
    const first = new Promise<BodySoFar>((resolve) => (arrived = resolve))
    const room = new Promise<void>((resolve) => (make = resolve))
    const request = (await aServer((soFar) => (arrived(soFar), room)))({ 'content-length': '2' })
    request.write('{')
    const { end } = await first
    expect(end.awaitsBody).toBe(false)
    make()
    await room
    expect(end.awaitsBody).toBe(true)
  })

  it('can be refused while nothing of it arrives', async () => {
    let arrived = (_: BodySoFar) => undefined as void
    const first = new Promise<BodySoFar>((resolve) => (arrived = resolve))
    const request = (await aServer((soFar) => void arrived(soFar)))({ 'content-length': '1000' })
    request.write('{')
    const { beginning, refuse } = await first
    refuse(noRoom())
    expect((await answerTo(request))[0]).toBe(503)
    // A connection that stays open must not keep in memory what has arrived.
    expect(beginning(1)).toHaveLength(0)
  })

  it('is dropped when its client disconnects', async () => {
    let arrived = (_: BodySoFar) => undefined as void
    const first = new Promise<BodySoFar>((resolve) => (arrived = resolve))
    const request = (await aServer((soFar) => void arrived(soFar)))({ 'content-length': '1000' })
    request.write('{')
    const { beginning, end } = await first
    const gone = new Promise<void>((resolve) => end.onceGone(resolve))
    request.destroy()
    await gone
    expect(beginning(1)).toHaveLength(0)
  })
})

// One buffer per chunk would need thirty times the memory of its bytes.
it.each<BodySpec['as']>(['json', 'json-bytes', 'form'])(
  'chunks of one byte are kept together: %s',
  async (as) => {
    const count = 100_000
    let arrived = 0
    const request = (await aServer(() => void (arrived += 1), as))({
      'transfer-encoding': 'chunked',
      ...(as === 'form' && { 'content-type': 'application/x-www-form-urlencoded' }),
    })
    await once(request, 'socket')
    const before = heapBytes()
    const socket = request.socket as Socket
    request.flushHeaders()
    for (let sent = 0; sent < count; sent += 1000) socket.write('1\r\n1\r\n'.repeat(1000))
    while (arrived < count) await new Promise(setImmediate)
    expect(heapBytes() - before).toBeLessThan(4_000_000)
    socket.end('0\r\n\r\n')
  },
)
