import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createAuthority, issueCertificate, type Authority } from '@signet/local'
import { createConnections } from './connections.js'
import { post } from './http-sender.js'

const HOST = 'hook.example.com'
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

/** A proxy that finds every host on this machine, and an agent behind it. */
async function startProxy() {
  const proxy = createServer().on('connect', ({ url }, client: Socket) => {
    const upstream = connect(Number(url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  const { port } = await listen(proxy)
  const config = { proxyUrl: `http://127.0.0.1:${port}`, allowPrivateTargets: true, timeoutMs: 60_000 }
  const connections = createConnections(config, { ca: authority.cert, onProxyFailed: () => undefined })
  cleanups.push(() => connections.destroy())
  return async (url: string) => {
    const request = { url: new URL(url), headers: {}, body: Buffer.from('{}') }
    return post(connections.of('ada'), request, config.timeoutMs).answered
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
})
