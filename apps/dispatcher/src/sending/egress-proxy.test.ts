import { once } from 'node:events'
import { createServer } from 'node:http'
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createAuthority, issueCertificate, type Authority } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { Pool } from 'undici'
import { egressProxy, type EgressProxyOptions } from './egress-proxy.js'
import { post } from './http-sender.js'

const HOST = 'hook.example.com'
const LONG_MS = 60_000
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

let authority: Authority
beforeAll(async () => {
  authority = await createAuthority()
})

async function listen<Listener extends Server>(server: Listener) {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(
    () => server.close(),
    () => sockets.forEach((socket) => socket.destroy()),
  )
  return { port: (server.address() as AddressInfo).port, sockets }
}

/** A proxy that finds every host on this machine. Returns what sends a request through it. */
async function startProxy(options: Partial<EgressProxyOptions> = {}) {
  const proxy = createServer().on('connect', ({ url }, client: Socket) => {
    const upstream = connect(Number(url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  const { port } = await listen(proxy)
  return senderThrough(port, options)
}

function senderThrough(port: number, options: Partial<EgressProxyOptions> = {}) {
  const { dispatch, destroy } = egressProxy({
    url: `http://127.0.0.1:${port}`,
    factory: (origin, options) => new Pool(origin, options),
    maxConnectionLifeMs: 60_000,
    keepAliveMs: 60_000,
    timeoutMs: LONG_MS,
    ca: authority.cert,
    onProxyFailed: () => undefined,
    ...options,
  })
  cleanups.push(destroy)
  return async (url: string) => {
    const request = { url: new URL(url), headers: {}, body: Buffer.from('{}') }
    return post({ dispatch }, request, LONG_MS).answered
  }
}

const answer = (socket: TLSSocket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')

/** A receiver behind the proxy, which does `onRequest` with its end of the connection. */
async function startReceiver(onRequest: (socket: TLSSocket) => void, options: TlsOptions = {}) {
  const server = createTlsServer({ ...(await issueCertificate(authority, [HOST])), ...options }, (socket) =>
    socket.on('error', () => undefined).on('data', () => onRequest(socket)),
  )
  return listen(server.on('tlsClientError', () => undefined))
}

describe('TLS through an egress proxy', () => {
  it('calculates in no finite field', async () => {
    const ciphers = 'DHE-RSA-AES128-GCM-SHA256'
    const { port } = await startReceiver(answer, { maxVersion: 'TLSv1.2', ciphers, dhparam: 'auto' })
    const send = await startProxy()
    expect(await send(`https://${HOST}:${port}/`)).toEqual({ kind: 'failed', error: 'tls_error' })
  })

  it('shakes hands once', async () => {
    let done: (outcome: unknown) => void
    const outcome = new Promise((resolve) => (done = resolve))
    const askAgain = (socket: TLSSocket) => {
      socket.on('error', done).renegotiate({}, (error) => done(error ?? 'handshakes again'))
    }
    const { port } = await startReceiver(askAgain, { maxVersion: 'TLSv1.2' })
    const send = await startProxy()
    void send(`https://${HOST}:${port}/`)
    expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' })
  })

  it('names the receiver without the root dot, which is not allowed in SNI', async () => {
    const names: string[] = []
    const { port } = await startReceiver(answer, {
      SNICallback: (name, done) => {
        names.push(name)
        done(null)
      },
    })
    const send = await startProxy()
    expect(await send(`https://${HOST}.:${port}/`)).toEqual({ kind: 'answered', status: 204 })
    expect(names).toEqual([HOST])
  })

  it('is given up after the time of an attempt if the receiver never shakes hands', async () => {
    const { port, sockets } = await listen(createTcpServer((socket) => socket.resume()))
    const send = await startProxy({ timeoutMs: 100 })
    expect(await send(`https://${HOST}:${port}/`)).toEqual({ kind: 'failed', error: 'timeout' })
    await waitFor(() => sockets.every(({ destroyed }) => destroyed))
  })
})

describe('an egress proxy that accepts a connection', () => {
  it.each<[how: string, onAsked: (socket: Socket) => void]>([
    ['closes it without an answer', (socket) => socket.end()],
    ['resets it without an answer', (socket) => socket.resetAndDestroy()],
    ['answers in another protocol', (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n')],
    ['breaks off its answer', (socket) => socket.end('HTTP/1.1 200 Conn')],
  ])('and %s has failed, and not the receiver', async (_how, onAsked) => {
    const { port, sockets } = await listen(
      createTcpServer((socket) => socket.once('data', () => onAsked(socket))),
    )
    const reasons: unknown[] = []
    const send = senderThrough(port, { onProxyFailed: (reason) => reasons.push(reason) })
    expect(await send(`https://${HOST}/`)).toEqual({ kind: 'unsent' })
    expect(reasons).toEqual([expect.any(Error)])
    expect(sockets).toHaveLength(1)
  })

  it('and closes it at once, like a load balancer with nothing behind it, has failed', async () => {
    const { port } = await listen(createTcpServer((socket) => socket.resetAndDestroy()))
    const send = senderThrough(port)
    expect(await send(`https://${HOST}/`)).toEqual({ kind: 'unsent' })
  })

  it('and has no answer in the time of an attempt may be waiting for the receiver, whose failure it is', async () => {
    const { port } = await listen(createTcpServer((socket) => socket.resume()))
    const reasons: unknown[] = []
    const send = senderThrough(port, { timeoutMs: 100, onProxyFailed: (reason) => reasons.push(reason) })
    expect(await send(`https://${HOST}/`)).toEqual({ kind: 'failed', error: 'timeout' })
    expect(reasons).toEqual([])
  })

  it('and closes it after its answer has done its part', async () => {
    const { port } = await listen(
      createTcpServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n'))),
    )
    const send = senderThrough(port)
    expect(await send(`https://${HOST}/`)).toEqual({ kind: 'failed', error: 'connection_reset' })
  })
})

it('asks for one tunnel to a receiver without TLS that sends a response before the request', async () => {
  const { port, sockets } = await listen(
    createTcpServer((socket) => socket.resume().write('HTTP/1.1 200 OK\r\n\r\n')),
  )
  // The response arrives together with the answer of the proxy.
  const proxy = createServer().on('connect', (_, client: Socket) => {
    const upstream = connect(port, '127.0.0.1').once('data', (early) => {
      client.write(`HTTP/1.1 200 Connection established\r\n\r\n${String(early)}`)
      upstream.pipe(client).pipe(upstream)
    })
  })
  const send = senderThrough((await listen(proxy)).port, { timeoutMs: 1000 })
  expect(await send(`http://${HOST}:${port}/`)).toEqual({ kind: 'failed', error: 'invalid_response' })
  expect(sockets).toHaveLength(1)
  await waitFor(() => sockets.every(({ destroyed }) => destroyed))
})

it('keeps no tunnel for as long as the receiver would like', async () => {
  const { port, sockets } = await startReceiver((socket) => {
    socket.write('HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=600\r\n\r\n')
  })
  const send = await startProxy({ keepAliveMs: 10 })
  expect(await send(`https://${HOST}:${port}/`)).toEqual({ kind: 'answered', status: 204 })
  await waitFor(() => sockets.every(({ destroyed }) => destroyed))
})
