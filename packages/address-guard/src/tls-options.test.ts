import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TlsOptions, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generate } from 'selfsigned'
import { request } from 'undici'
import { AddressGuard } from './address-guard.js'
import { guardedAgent } from './guarded-agent.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

let pems: { private: string; cert: string }
beforeAll(async () => {
  pems = await generate([{ name: 'commonName', value: 'hook.example.com' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'hook.example.com' }] }],
  })
})

/** Calls a server that does `onRequest` with its end of the connection. */
async function call(options: TlsOptions, onRequest: (socket: TLSSocket) => void): Promise<number> {
  const server = createServer({ key: pems.private, cert: pems.cert, ...options }, (socket) =>
    socket.on('error', () => undefined).once('data', () => onRequest(socket)),
  )
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dispatcher = guardedAgent({
    guard: new AddressGuard({
      allowPrivateTargets: true,
      resolver: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    }),
    ca: pems.cert,
  })
  cleanups.push(
    () => server.close(),
    () => dispatcher.destroy(),
  )
  const url = `https://hook.example.com:${(server.address() as AddressInfo).port}/`
  const { statusCode, body } = await request(url, { method: 'POST', body: '{}', dispatcher })
  await body.dump()
  return statusCode
}

const answer = (socket: TLSSocket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')

describe('TLS with a server of somebody else', () => {
  it.each<[string, TlsOptions]>([
    ['RSA and TLS 1.2', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }],
    ['an elliptic curve and TLS 1.2', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }],
    ['X25519', { minVersion: 'TLSv1.3', ecdhCurve: 'X25519' }],
    ['P-256', { minVersion: 'TLSv1.3', ecdhCurve: 'P-256' }],
    ['P-384', { minVersion: 'TLSv1.3', ecdhCurve: 'P-384' }],
    ['P-521', { minVersion: 'TLSv1.3', ecdhCurve: 'P-521' }],
  ])('takes place over %s', async (_, options) => {
    expect(await call(options, answer)).toBe(204)
  })

  it.each<[string, TlsOptions]>([
    [
      'a group of its own and TLS 1.2',
      { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' },
    ],
    ['a large group and TLS 1.3', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe2048' }],
  ])('does not calculate in a finite field: %s', async (_, options) => {
    await expect(call(options, answer)).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_SSL_/) })
  })

  it('happens once for each connection, although TLS 1.2 lets the server ask again', async () => {
    const outcome = new Promise((resolve) => {
      const askAgain = (socket: TLSSocket) => {
        socket.on('error', resolve).renegotiate({}, (error) => resolve(error ?? 'handshakes again'))
      }
      void call({ maxVersion: 'TLSv1.2' }, askAgain).catch(() => undefined)
    })
    expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' })
  })
})
