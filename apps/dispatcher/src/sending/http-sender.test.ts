import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { leasePort } from '@signet/local'
import { freezeTimeouts, waitFor } from '@signet/testkit'
import { reply, startReceiver, type Answer, type Receiver } from '@signet/testkit/receiver'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import type { SendResult } from './attempt-failure.js'
import { post } from './http-sender.js'

/** Time limit of exchanges that would never end without it. */
const TIME_LIMIT_MS = 400
/** Time limit of all other exchanges, because a busy machine may be slow. */
const LONG_TIMEOUT_MS = 60_000

describe('post', () => {
  let receiver: Receiver
  const opened: { close(): unknown }[] = []
  const agents: { destroy(): Promise<void> }[] = []
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()))
    for (const server of opened.splice(0)) server.close()
  })

  function agentFor({ resolver = undefined as string[] | undefined, trusting = true, open = true } = {}) {
    const guard = new AddressGuard({
      allowPrivateTargets: open,
      ...(resolver && {
        resolver: () =>
          Promise.resolve(resolver.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))),
      }),
    })
    const agent = guardedAgent({
      guard,
      ca: trusting ? receiver.authorityCert : undefined,
      connectTimeoutMs: LONG_TIMEOUT_MS,
    })
    agents.push(agent)
    return agent
  }

  const start = (url: string, { agent = agentFor(), body = '{}', limitMs = LONG_TIMEOUT_MS } = {}) =>
    post(
      agent,
      { url: new URL(url), headers: { 'content-type': 'application/json' }, body: Buffer.from(body) },
      limitMs,
    )

  async function send(url: string, options: Parameters<typeof start>[1] = {}) {
    const startedAt = performance.now()
    const exchange = start(url, options)
    const result = await exchange.answered
    await exchange.closed
    return { result, closedMs: performance.now() - startedAt, facts: exchange.facts() }
  }

  async function rawServer(onConnection: (socket: Socket) => void): Promise<number> {
    const sockets = new Set<Socket>()
    const server: Server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      onConnection(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(server, { close: () => sockets.forEach((socket) => socket.destroy()) })
    return (server.address() as AddressInfo).port
  }

  const answered = (status: number): SendResult => ({ kind: 'answered', status })
  const failed = (error: string): SendResult => ({ kind: 'failed', error }) as SendResult

  it.each<[string, Answer, SendResult]>([
    ['a 200', reply(200), answered(200)],
    ['a 204', reply(204), answered(204)],
    ['a 299', reply(299), answered(299)],
    ['a redirect, which is not followed', reply(302, { headers: { location: '/elsewhere' } }), answered(302)],
    ['a 500', reply(500), answered(500)],
    [
      'a 101 that nobody asked for',
      reply(101, { headers: { connection: 'upgrade', upgrade: 'x' } }),
      answered(101),
    ],
    ['bytes that are not HTTP', { kind: 'garbage' }, failed('invalid_response')],
    ['a broken connection', { kind: 'close' }, failed('connection_reset')],
    ['silence', { kind: 'hang' }, failed('timeout')],
    ['headers that drip after the status line', { kind: 'drip-head', everyMs: 20 }, failed('timeout')],
  ])('takes %s for what it is', async (_name, answer, expected) => {
    receiver.hook('/case', { otherwise: answer })
    const limitMs =
      expected.kind === 'failed' && expected.error === 'timeout' ? TIME_LIMIT_MS : LONG_TIMEOUT_MS
    const { result } = await send(receiver.url('/case'), { limitMs })
    expect(result).toEqual(expected)
    expect(receiver.deliveries({ path: '/elsewhere' })).toEqual([])
  })

  it('does not wait for a body that never ends', async () => {
    receiver.hook('/drip', { otherwise: { kind: 'drip-body', everyMs: 20 } })
    expect(await start(receiver.url('/drip')).answered).toEqual(answered(200))
  })

  it('lets go of a body that never ends when the time is up', async () => {
    receiver.hook('/drip', { otherwise: { kind: 'drip-body', everyMs: 20 } })
    const { closedMs } = await send(receiver.url('/drip'), { limitMs: TIME_LIMIT_MS })
    expect(closedMs).toBeGreaterThanOrEqual(TIME_LIMIT_MS - 20)
  })

  it('closes the connection on an answer of more than 16 KiB instead of reading it', async () => {
    let written = 0
    const port = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
        const pump = () => {
          while (!socket.destroyed && written < 1000) {
            written += 1
            if (!socket.write(chunk)) return void socket.once('drain', pump)
          }
        }
        pump()
      })
    })
    const { result } = await send(`http://127.0.0.1:${port}/`)
    expect(result).toEqual(answered(200))
    expect(written).toBeLessThan(1000)
  })

  it('uses a connection again after a small answer', async () => {
    receiver.hook('/reuse', { otherwise: reply(200, { body: 'ok' }) })
    const agent = agentFor()
    // A connection becomes free a moment after the answer has ended, so the very next request may open another one.
    const before = receiver.connections
    for (let sent = 0; sent < 5; sent += 1) await send(receiver.url('/reuse'), { agent })
    expect(receiver.connections - before).toBeLessThan(5)
  })

  it('counts the TLS handshake, too', async () => {
    let hasBegun = false
    const port = await rawServer((socket) => socket.once('data', () => (hasBegun = true)))
    const timeouts = freezeTimeouts()
    try {
      const sent = send(`https://127.0.0.1:${port}/`, { limitMs: 1 })
      await waitFor(() => hasBegun)
      timeouts.advance(1)
      const { result, facts } = await sent
      expect(result).toEqual(failed('timeout'))
      // The connection was open, so the address is known, but not how long TLS would have taken.
      expect(facts).toEqual({ connect: expect.any(Number) as unknown, peer: '127.0.0.1' })
    } finally {
      timeouts.thaw()
    }
  })

  it('maps connection errors to failure reasons', async () => {
    const plain = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const closing = await rawServer((socket) => socket.destroy())
    const unused = await leasePort() // nobody listens on a port that is only leased
    expect((await send(`https://127.0.0.1:${plain}/`)).result).toEqual(failed('tls_error'))
    expect((await send(`https://127.0.0.1:${closing}/`)).result).toEqual(failed('connection_reset'))
    expect((await send(`https://127.0.0.1:${unused}/`)).result).toEqual(failed('connection_refused'))
    expect((await send(receiver.url('/'), { agent: agentFor({ trusting: false }) })).result).toEqual(
      failed('tls_error'),
    )
  })

  it('takes 000 for no answer at all', async () => {
    const port = await rawServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n'))
    })
    expect((await send(`http://127.0.0.1:${port}/`)).result).toEqual(failed('invalid_response'))
  })

  it('knows the address of a failed TLS handshake, and none without a connection', async () => {
    const untrusted = await send(receiver.url('/'), { agent: agentFor({ trusting: false }) })
    expect([untrusted.result, untrusted.facts.peer]).toEqual([failed('tls_error'), '127.0.0.1'])
    const refused = await send(`https://127.0.0.1:${await leasePort()}/`)
    expect([refused.result, refused.facts.peer]).toEqual([failed('connection_refused'), undefined])
  })

  it('refuses a certificate for another name', async () => {
    const url = `https://hook.example.com:${receiver.port}/`
    const { result } = await send(url, { agent: agentFor({ resolver: ['127.0.0.1'] }) })
    expect(result).toEqual(failed('tls_error'))
  })

  it('opens no connection to a name that came to mean a private address', async () => {
    const before = receiver.connections
    const url = `https://hook.example.com:${receiver.port}/`
    const { result } = await send(url, { agent: agentFor({ resolver: ['127.0.0.1'], open: false }) })
    expect(result).toEqual(failed('blocked_address'))
    expect((await send(receiver.url('/'), { agent: agentFor({ open: false }) })).result).toEqual(
      failed('blocked_address'),
    )
    expect(receiver.connections).toBe(before)
  })

  it('tells a name without address from a blocked one', async () => {
    const { result } = await send('https://hook.example.com/', { agent: agentFor({ resolver: [] }) })
    expect(result).toEqual(failed('dns_error'))
  })

  it('sends the body with its length, and nothing that nobody asked for', async () => {
    receiver.hook('/headers', {})
    await send(receiver.url('/headers'), { body: '{"é":1}' })
    const [delivery] = receiver.deliveries({ path: '/headers' })
    expect(delivery?.method).toBe('POST')
    expect(Object.keys(delivery?.headers ?? {}).sort()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'host',
    ])
    expect(delivery?.headers['content-length']).toBe('8')
  })
})
