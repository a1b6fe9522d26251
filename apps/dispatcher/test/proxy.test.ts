import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Authority } from '@signet/local'
import { createAuthority, leasePort } from '@signet/local'
import type { DeliveryId } from '@signet/webhook-core'
import { deliveryJobId } from '@signet/webhook-core/queue'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { startOldReceiver } from './support/old-tls.js'

const CREDENTIALS = `Basic ${Buffer.from('egress:hidden-password').toString('base64')}`

/** What the proxy says about hosts that it does not connect to. It says nothing about `silent.example.com`. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['stranger.example.com', '407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="egress"'],
  // As Smokescreen does.
  ['private.example.com', '407 Request rejected by proxy'],
  ['away.example.com', '502 Bad Gateway'],
  ['slow.example.com', '504 Gateway Timeout'],
])

/** An egress proxy. Only it knows where `hook.example.com` is. */
async function startProxy(listenOn = 0) {
  const asked: { target: string | undefined; authorization: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const silent = new Set<Socket>()
  const server: Server = createServer()
  server.on('connect', ({ url, headers }, client: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] })
    sockets.add(client)
    client.on('error', () => undefined)
    const [host = '', port] = url?.split(':') ?? []
    if (host === 'silent.example.com') {
      silent.add(client.resume())
      client.on('end', () => client.end()).on('close', () => silent.delete(client))
      return
    }
    if (host !== 'hook.example.com')
      return void client.end(`HTTP/1.1 ${REFUSALS.get(host) ?? '403 Forbidden'}\r\n\r\n`)
    const upstream = connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  server.listen(listenOn, '127.0.0.1')
  await once(server, 'listening')
  return {
    asked,
    /** How many connections wait for an answer. */
    get silent() {
      return silent.size
    },
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
    dispatcher = await startBehind(proxy.url)
  })
  afterAll(async () => {
    await dispatcher.stop()
    proxy.close()
    await receiver.close()
  })

  const startBehind = (url: string, env: Record<string, string> = {}) =>
    startDispatcher({
      env: {
        DISPATCHER_PROXY_URL: url,
        DISPATCHER_RETRY_DELAYS_SECONDS: '0.05',
        WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'false',
        ...env,
      },
      ports: {
        ca: receiver.authorityCert,
        resolver: () => Promise.reject(new Error('a dispatcher with a proxy resolves nothing')),
      },
    })

  async function publish(host: string, path: string, { port = receiver.port, by = dispatcher } = {}) {
    const subscriber = by.subscriber()
    const endpoint = await subscriber.endpoint(`https://${host}:${port}${path}`)
    receiver.hook(path, { secret: endpoint.secret })
    await subscriber.summary()
    return async () => (await deliveriesOf(by.db, subscriber.accountId))[0]
  }

  async function deliver(...delivery: Parameters<typeof publish>) {
    const rowOf = await publish(...delivery)
    return waitFor(async () => {
      const row = await rowOf()
      return row && row.status !== 0 && row
    })
  }

  /** Resolves once the delivery is in the queue until the proxy works again. */
  async function untilItWaits({ queues }: TestDispatcher, rowOf: Awaited<ReturnType<typeof publish>>) {
    return waitFor(async () => {
      const row = await rowOf()
      const job = row && (await queues.deliveries.getJob(deliveryJobId(row.id as DeliveryId)))
      return row && job?.opts.delay === 60_000 && row
    })
  }

  async function failuresOf(endpointId: string, { db } = dispatcher) {
    const { rows } = await db.query<{ count: number }>(
      'select consecutive_failures as count from webhook_endpoints where id = $1',
      [endpointId],
    )
    return rows[0]?.count
  }

  it('is asked for every receiver by name, and TLS goes through it to the receiver itself', async () => {
    expect(await deliver('hook.example.com', '/through')).toMatchObject({ status: 1, attempts: 1 })
    expect(receiver.deliveries({ path: '/through' })).toMatchObject([{ verified: true }])
    expect(proxy.asked.at(-1)).toEqual({
      target: `hook.example.com:${receiver.port}`,
      authorization: CREDENTIALS,
    })
  })

  it('stands between us and the receiver, so the address that we are connected to is not in the log', async () => {
    const { id } = await deliver('hook.example.com', '/address')
    const attempts = await listAttempts(dispatcher.db, [id as DeliveryId])
    expect(attempts).toMatchObject([{ error: '', facts: { first_byte: expect.any(Number) as unknown } }])
    expect(attempts[0]?.facts).not.toHaveProperty('peer')
  })

  it('checks addresses itself: what it refuses is a failed attempt, and nothing goes past it', async () => {
    expect(await deliver('127.0.0.1', '/past')).toMatchObject({
      status: 2,
      attempts: 2,
      last_error: 'blocked_address',
    })
    expect(receiver.deliveries({ path: '/past' })).toEqual([])
    expect(proxy.asked.at(-1)?.target).toBe(`127.0.0.1:${receiver.port}`)
  })

  it.each([
    ['away.example.com', 'connection_error'],
    ['slow.example.com', 'timeout'],
  ])('that cannot reach %s has this as the failure: %s', async (host, error) => {
    const row = await deliver(host, '/away')
    expect(row).toMatchObject({ status: 2, last_error: error })
    expect(await failuresOf(row.endpoint_id)).toBe(2)
  })

  async function deferredFor(reason: string) {
    const metric = await dispatcher.registry.getSingleMetric('signet_delivery_deferred_total')?.get()
    return metric?.values.find(({ labels }) => labels['reason'] === reason)?.value
  }

  it('that does not accept our credentials uses up no attempt, and the log says why', async () => {
    expect(await deferredFor('proxy_failed')).toBe(0)
    const row = await untilItWaits(dispatcher, await publish('stranger.example.com', '/stranger'))
    expect(row).toMatchObject({ status: 0, attempts: 0, last_error: '' })
    expect(await failuresOf(row.endpoint_id)).toBe(0)
    expect(await deferredFor('proxy_failed')).toBe(1)
    expect(dispatcher.logLines).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        msg: 'egress proxy',
        error_message: expect.stringMatching(/407/),
      }),
    )
  })

  it('that refuses an address with 407 but asks for no credentials does not keep its delivery waiting', async () => {
    expect(await deliver('private.example.com', '/private')).toMatchObject({
      status: 2,
      last_error: 'blocked_address',
    })
  })

  it('that cannot be reached uses up no attempt, and the delivery goes on once it can', async () => {
    const port = await leasePort() // nobody listens on a port that is only leased
    const alone = await startBehind(`http://127.0.0.1:${port}`)
    try {
      const rowOf = await publish('hook.example.com', '/unreached', { by: alone })
      const row = await untilItWaits(alone, rowOf)
      expect(row).toMatchObject({ status: 0, attempts: 0, last_error: '' })
      expect(await failuresOf(row.endpoint_id, alone)).toBe(0)
      const jobId = deliveryJobId(row.id as DeliveryId)
      const repaired = await startProxy(port)
      try {
        await alone.queues.startDelayed('deliveries', [jobId])
        await waitFor(async () => (await rowOf())?.status === 1)
        expect(await rowOf()).toMatchObject({ attempts: 1 })
      } finally {
        repaired.close()
      }
    } finally {
      await alone.stop()
    }
  })

  it('has a tunnel for each account, also to the same receiver', async () => {
    const before = proxy.asked.length
    await deliver('hook.example.com', '/one')
    await deliver('hook.example.com', '/other')
    expect(proxy.asked.slice(before)).toHaveLength(2)
  })

  it('that says nothing keeps no connection after the attempt', async () => {
    const hasty = await startBehind(proxy.url, { DISPATCHER_TIMEOUT_MS: '200' })
    try {
      expect(await deliver('silent.example.com', '/silent', { by: hasty })).toMatchObject({
        last_error: 'timeout',
      })
      await waitFor(() => proxy.silent === 0, { describe: 'the end of connections that wait for the proxy' })
    } finally {
      await hasty.stop()
    }
  })

  it('brings nothing past the limit of TLS 1.2, which is ours all the same', async () => {
    const old = await startOldReceiver(authority, 'hook.example.com')
    try {
      const row = await deliver('hook.example.com', '/old', { port: old.port })
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
