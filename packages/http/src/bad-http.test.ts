import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger, createRegistry } from '@signet/telemetry'
import express from 'express'
import { docs, echo } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { errorHandler, listen, mountRoutes, requestContext, route, type Listener } from './index.js'
import type { ListenOptions } from './listen.js'

let listener: Listener | undefined
afterEach(() => listener?.close(0))

type Line = { level: string; path: string; status: number; error_code?: string; error?: unknown }

async function start() {
  const lines: Line[] = []
  const sink = (line: string) => void lines.push(JSON.parse(line) as Line)
  const registry = createRegistry({ runtime: false })
  const app = express()
  app.use(requestContext({ log: createLogger({ level: 'info', component: 'test', sink }), registry }))
  const slow = route({
    method: 'get',
    path: '/slow',
    docs,
    handle: async () => {
      for (let turns = 0; turns < 10; turns += 1) await turn()
      return { body: 'slow' }
    },
  })
  const early = route({
    method: 'post',
    path: '/early',
    docs,
    handle: ({ res }) => {
      res.flushHeaders()
      return new Promise<void>(() => undefined)
    },
  })
  const anyBody = { as: 'any-json', maxBytes: 100, optional: true } as const
  mountRoutes(app, [slow, early, echo({ path: '/echo', body: anyBody })], { errorRenderer })
  app.use(errorHandler({ errorRenderer }))
  listener = await listen(app, { port: 0, host: '127.0.0.1' })
  const { port } = listener
  return { lines, registry, open: () => connect(port, '127.0.0.1') }
}

const GET = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
const POST = 'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
const CONNECT = 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'
const REFUSED = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'

/** Sends the pieces, and returns all that the server sends until it closes the connection. */
const say = async ({ open }: Awaited<ReturnType<typeof start>>, ...pieces: string[]) => {
  const client = open()
  for (const piece of pieces) {
    client.write(piece)
    await turn()
  }
  return text(client)
}
const statusesOf = (said: string) => [...said.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)

describe('what is not HTTP', () => {
  const logged = ({ lines }: { lines: Line[] }) =>
    lines.map(({ level, path, status, error_code: code, error }) => ({ level, path, status, code, error }))

  it('is the doing of the client, in the log and in the counters, when it is the body of a request', async () => {
    const server = await start()
    expect(await say(server, `${POST}ZZ\r\n`)).toBe(REFUSED)
    while (server.lines.length === 0) await turn()
    expect(logged(server)).toMatchObject([{ level: 'warning', path: '/echo', status: 400 }])
    expect(server.lines[0]).not.toHaveProperty('error')
    expect(server.lines[0]?.error_code).not.toBe('request_timeout')
    const counted = await server.registry.metrics()
    expect(counted).toContain('status_class="4xx"} 1')
    expect(counted).not.toContain('status_class="5xx"')
  })

  it.each([
    ['behind a request', [`${GET}GARBAGE\r\n\r\n`], ['200', '400']],
    ['behind two', [`${GET}${GET}GARBAGE\r\n\r\n`], ['200', '200', '400']],
    ['in the body of a request behind another one', [`${GET}${POST}ZZ\r\n`], ['200', '400']],
    ['in more than one piece', [`${GET}GARBAGE\r\n\r\n`, 'MORE\r\n\r\n'], ['200', '400']],
    ['alone', ['GARBAGE\r\n\r\n'], ['400']],
    ['a request to a proxy', [CONNECT], ['405']],
    ['with too much in its head', [`GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`], ['431']],
  ])('is refused when the requests before it have their answers: %s', async (_, pieces, statuses) => {
    const server = await start()
    const said = await say(server, ...pieces)
    expect(statusesOf(said)).toEqual(statuses)
    expect(said.endsWith('Connection: close\r\n\r\n')).toBe(true)
    expect(server.lines.filter(({ path }) => path === '/slow').map(({ status }) => status)).toEqual(
      statuses.filter((status) => status === '200').map(Number),
    )
  })

  it('is a body of which the end is missing', async () => {
    const server = await start()
    expect(await text(server.open().end(`${POST}2\r\n{}\r\n`))).toBe(REFUSED)
    while (server.lines.length === 0) await turn()
    expect(logged(server)).toMatchObject([{ level: 'warning', path: '/echo', status: 400 }])
  })

  it('adds nothing to an answer that has begun', async () => {
    const server = await start()
    const client = server.open()
    client.write('POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const [begun] = (await once(client, 'data')) as [Buffer]
    client.write('ZZ\r\n')
    expect(statusesOf(begun.toString() + (await text(client)))).toEqual(['200'])
    expect(logged(server)).toMatchObject([{ level: 'warning', status: 499 }])
  })
})

describe('the host of a request', () => {
  it.each([
    ['another one', 'GET /slow HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['itself, in other letters', 'GET /slow HTTP/1.1\r\nhost: x\r\nAccept: */*\r\nHOST: x\r\n\r\n'],
    ['another one, before HTTP/1.1', 'GET /slow HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['another one, with a body', `${POST.replace('Host: x', 'Host: x\r\nHost: y')}2\r\n{}\r\n0\r\n\r\n`],
  ])('stands in no request together with %s', async (_, request) => {
    const server = await start()
    const said = await say(server, `${GET}${request}${GET}`)
    expect(statusesOf(said)).toEqual(['200', '400'])
    expect(said).toMatch(/\r\nConnection: close\r\n/)
    expect(server.lines.map(({ path }) => path)).toEqual(['/slow'])
  })

  it('may be missing before HTTP/1.1 only', async () => {
    const server = await start()
    expect(statusesOf(await say(server, 'GET /slow HTTP/1.0\r\n\r\n'))).toEqual(['200'])
    expect(statusesOf(await say(server, 'GET /slow HTTP/1.1\r\n\r\n'))).toEqual(['400'])
  })
})

/** On CONNECT, Node removes its listeners from the connection and frees its parser, so it no longer watches earlier answers. */
describe('a request to a proxy behind one whose answer is not complete', () => {
  // More than the buffers of the two sockets hold.
  const LARGE = Buffer.alloc(64 << 20)

  /** Pipelines a GET and a CONNECT from a client that reads nothing, and returns the response to the GET. */
  async function answerBeforeConnect(options: Partial<ListenOptions>, answer: (res: ServerResponse) => void) {
    let refused = () => {}
    const isRefused = new Promise<void>((resolve) => (refused = resolve))
    const begun = new Promise<ServerResponse>((resolve, reject) => {
      const handler = (_req: IncomingMessage, res: ServerResponse) => {
        ;(res.req.socket as unknown as { server: Server }).server.once('connect', () => refused())
        answer(res)
        resolve(res)
      }
      listen(handler, { port: 0, host: '127.0.0.1', ...options }).then((started) => {
        listener = started
        const client = connect(started.port, '127.0.0.1').pause()
        client.on('error', () => undefined).write(`${GET}${CONNECT}`)
      }, reject)
    })
    await isRefused
    return begun
  }
  const closed = (res: ServerResponse) =>
    new Promise<void>((resolve) => (res.closed ? resolve() : res.once('close', resolve)))

  it('keeps no answer in memory that its client does not read', async () => {
    const res = await answerBeforeConnect({ stallTimeoutMs: 20 }, (answer) => void answer.end(LARGE))
    await closed(res)
  })

  it('lets no answer wait forever for room in the connection', async () => {
    let over = () => {}
    const isOver = new Promise<void>((resolve) => (over = resolve))
    await answerBeforeConnect({}, (answer) => pipeline(Readable.from([LARGE, LARGE]), answer, over))
    await isOver
  })

  it('is closed with the listener', async () => {
    await answerBeforeConnect({}, () => undefined)
    await listener?.close(0)
  })
})
