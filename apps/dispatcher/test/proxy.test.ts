import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Authority } from '@signet/local'
import { createAuthority } from '@signet/local'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { startOldReceiver } from './support/old-tls.js'

const CREDENTIALS = `Basic ${Buffer.from('egress:hidden-password').toString('base64')}`

/** An egress proxy. Only it knows where `hook.example.com` is. */
async function startProxy() {
  const asked: { target: string | undefined; authorization: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer()
  server.on('connect', ({ url, headers }, client: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] })
    sockets.add(client)
    client.on('error', () => undefined)
    if (!url?.startsWith('hook.example.com:')) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const upstream = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    asked,
    url: `http://egress:hidden-password@127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

describe('an egress proxy', () => {
  let authority: Authority
  let receiver: Receiver
  let proxy: Awaited<ReturnType<typeof startProxy>>
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    authority = await createAuthority()
    receiver = await startReceiver({ publicHost: 'hook.example.com', authority })
    proxy = await startProxy()
    dispatcher = await startDispatcher({
      env: {
        DISPATCHER_PROXY_URL: proxy.url,
        DISPATCHER_RETRY_DELAYS_SECONDS: '0.05',
        WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'false',
      },
      ports: {
        ca: receiver.authorityCert,
        resolver: () => Promise.reject(new Error('a dispatcher with a proxy resolves nothing')),
      },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    proxy.close()
    await receiver.close()
  })

  async function deliver(host: string, path: string, port = receiver.port) {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(`https://${host}:${port}${path}`)
    receiver.hook(path, { secret: endpoint.secret })
    await subscriber.summary()
    return waitFor(async () => {
      const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return row && row.status !== 0 && row
    })
  }

  it('is asked for every receiver by name, and TLS goes through it to the receiver itself', async () => {
    expect(await deliver('hook.example.com', '/through')).toMatchObject({ status: 1, attempts: 1 })
    expect(receiver.deliveries({ path: '/through' })).toMatchObject([{ verified: true }])
    expect(proxy.asked.at(-1)).toEqual({
      target: `hook.example.com:${receiver.port}`,
      authorization: CREDENTIALS,
    })
  })

  it('checks addresses itself: what it refuses is a failed attempt, and nothing goes past it', async () => {
    expect(await deliver('127.0.0.1', '/past')).toMatchObject({ status: 2, attempts: 2 })
    expect(receiver.deliveries({ path: '/past' })).toEqual([])
    expect(proxy.asked.at(-1)?.target).toBe(`127.0.0.1:${receiver.port}`)
  })

  it('brings nothing past the limit of TLS 1.2, which is ours all the same', async () => {
    const old = await startOldReceiver(authority, 'hook.example.com')
    try {
      const row = await deliver('hook.example.com', '/old', old.port)
      expect(row).toMatchObject({ status: 2, last_error: 'tls_error' })
      expect(old.requests).toBe(0)
    } finally {
      old.close()
    }
  })

  it('is not named in the log with its password', () => {
    expect(JSON.stringify(dispatcher.logLines)).not.toContain('hidden-password')
  })
})
