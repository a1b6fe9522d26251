import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import net, {
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net'
import { setImmediate } from 'node:timers/promises'
import tls from 'node:tls'
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { generate } from 'selfsigned'
import { request, type Agent } from 'undici'
import { AddressGuard, BlockedAddressError } from './address-guard.js'
import { guardedAgent, type GuardedAgentOptions } from './guarded-agent.js'
import type { Resolver } from './resolver.js'

type Receiver = { port: number; connections: Socket[]; hosts: (string | undefined)[] }

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(server: Server | TcpServer, host = '127.0.0.1'): Promise<Receiver> {
  const receiver: Receiver = { port: 0, connections: [], hosts: [] }
  server.on('connection', (socket: Socket) => receiver.connections.push(socket))
  server.listen(0, host)
  await once(server, 'listening')
  receiver.port = (server.address() as AddressInfo).port
  cleanups.push(() => {
    for (const socket of receiver.connections) socket.destroy()
    server.close()
  })
  return receiver
}

const answer: RequestListener = (req, res) => {
  req.resume()
  res.end('ok')
}

const loopback: Resolver = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])

function agent(options: Partial<GuardedAgentOptions> = {}): Agent {
  const guard = new AddressGuard({ allowPrivateTargets: true, resolver: loopback })
  const made = guardedAgent({ guard, ...options })
  cleanups.push(() => made.destroy())
  return made
}

const strict = (resolver: Resolver = loopback) => ({ guard: new AddressGuard({ resolver }) })

async function post(dispatcher: Agent, url: string): Promise<number> {
  const { statusCode, body } = await request(url, { method: 'POST', body: '{}', dispatcher })
  await body.dump()
  return statusCode
}

/** Waits for the pool to take the connection back, a moment after the answer. Until then, a request may open another one. */
async function idle(dispatcher: Agent): Promise<void> {
  const isBusy = () => Object.values(dispatcher.stats).some((pool) => 'free' in pool && pool.free === 0)
  while (isBusy()) await setImmediate()
}

describe('guardedAgent', () => {
  it('opens no connection to a name that resolves to a private address now, whatever it was at registration', async () => {
    const receiver = await start(createServer(answer))
    await expect(post(agent(strict()), `http://hook.example.com:${receiver.port}/`)).rejects.toThrow(
      BlockedAddressError,
    )
    expect(receiver.connections).toHaveLength(0)
  })

  it('opens no connection when only one of several addresses is private', async () => {
    const receiver = await start(createServer(answer))
    const mixed: Resolver = () =>
      Promise.resolve([
        { address: '127.0.0.1', family: 4 },
        { address: '192.0.2.1', family: 4 },
        { address: '1.1.1.1', family: 4 },
      ])
    await expect(post(agent(strict(mixed)), `http://hook.example.com:${receiver.port}/`)).rejects.toThrow(
      BlockedAddressError,
    )
    expect(receiver.connections).toHaveLength(0)
  })

  it.each(['127.0.0.1', '2130706433', '0x7f.1', '127.1', '[::ffff:127.0.0.1]', '[::1]', '[64:ff9b::7f00:1]'])(
    'opens no connection to the literal %s, for which no lookup happens',
    async (host) => {
      const receiver = await start(createServer(answer))
      await expect(post(agent(strict()), `http://${host}:${receiver.port}/`)).rejects.toThrow(
        BlockedAddressError,
      )
      expect(receiver.connections).toHaveLength(0)
    },
  )

  it('resolves again for each connection, so a name that moves to a private address is refused from then on', async () => {
    const receiver = await start(
      createServer((req, res) => answer(req, res.setHeader('connection', 'close'))),
    )
    let lookups = 0
    const guard = new AddressGuard({
      allowPrivateTargets: true,
      resolver: () => {
        lookups += 1
        return lookups === 1 ? loopback('') : Promise.reject(new BlockedAddressError('moved'))
      },
    })
    const dispatcher = agent({ guard })
    expect(await post(dispatcher, `http://hook.example.com:${receiver.port}/`)).toBe(200)
    await expect(post(dispatcher, `http://hook.example.com:${receiver.port}/`)).rejects.toThrow()
    expect(receiver.connections).toHaveLength(1)
  })

  it('goes on to the next address of a name when the first one does not answer', async () => {
    const receiver = await start(createServer(answer))
    const resolver: Resolver = () =>
      Promise.resolve([
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ])
    const guard = new AddressGuard({ allowPrivateTargets: true, resolver })
    expect(await post(agent({ guard }), `http://hook.example.com:${receiver.port}/`)).toBe(200)
  })

  it('gives an address enough time for a receiver on another continent before it goes on to the next one', async () => {
    const receiver = await start(createServer(answer))
    const connect = jest.spyOn(net, 'connect')
    cleanups.push(() => connect.mockRestore())
    await post(agent(), `http://hook.example.com:${receiver.port}/`)
    const [options] = connect.mock.calls[0] as unknown as [net.TcpNetConnectOpts]
    expect(options.autoSelectFamilyAttemptTimeout).toBe(1500)
  })

  it('follows no redirect', async () => {
    const inside = await start(createServer(answer))
    const receiver = await start(
      createServer((_req, res) => res.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end()),
    )
    expect(await post(agent(), `http://hook.example.com:${receiver.port}/`)).toBe(302)
    expect(inside.connections).toHaveLength(0)
  })

  it('reuses connections of a healthy receiver and looks its name up once per connection', async () => {
    const receiver = await start(createServer(answer))
    let lookups = 0
    const guard = new AddressGuard({
      allowPrivateTargets: true,
      resolver: (host) => {
        lookups += 1
        return loopback(host)
      },
    })
    const dispatcher = agent({ guard })
    for (let i = 0; i < 30; i += 1) await post(dispatcher, `http://hook.example.com:${receiver.port}/`)
    // Two rather than one: a request may start while the previous one is still releasing its connection.
    expect(receiver.connections.length).toBeLessThanOrEqual(2)
    expect(lookups).toBe(receiver.connections.length)
  })

  it('keeps a connection for 60 seconds and no longer, although it is busy', async () => {
    const receiver = await start(createServer(answer))
    const dispatcher = agent()
    const startedAt = Date.now()
    const clock = jest.spyOn(Date, 'now')
    cleanups.push(() => clock.mockRestore())
    const connectionsAfter = async (ms: number) => {
      clock.mockReturnValue(startedAt + ms)
      await post(dispatcher, `http://hook.example.com:${receiver.port}/`)
      await idle(dispatcher)
      return receiver.connections.length
    }
    expect(await connectionsAfter(0)).toBe(1)
    expect(await connectionsAfter(30_000)).toBe(1)
    expect(await connectionsAfter(60_000)).toBe(1)
    expect(await connectionsAfter(60_001)).toBe(2)
  })

  it('gives a connection up when its life is over', async () => {
    const receiver = await start(createServer(answer))
    const dispatcher = agent({ maxConnectionLifeMs: 50 })
    const url = `http://hook.example.com:${receiver.port}/`
    const until = Date.now() + 2000
    while (receiver.connections.length < 3 && Date.now() < until) await post(dispatcher, url)
    expect(receiver.connections.length).toBeGreaterThanOrEqual(3)
  })

  it('keeps an idle connection no longer than it is told to, whatever the receiver would like', async () => {
    const receiver = await start(
      createServer((req, res) => answer(req, res.setHeader('keep-alive', 'timeout=60'))),
    )
    await post(agent({ keepAliveMs: 10 }), `http://hook.example.com:${receiver.port}/`)
    const [socket] = receiver.connections
    if (!socket?.destroyed) await once(socket as Socket, 'close')
  })

  describe('over TLS', () => {
    let pems: { private: string; cert: string }
    beforeAll(async () => {
      pems = await generate([{ name: 'commonName', value: 'hook.example.com' }], {
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'hook.example.com' }] }],
      })
    })
    const tlsReceiver = async (names: string[] = []) =>
      start(
        createTlsServer(
          {
            key: pems.private,
            cert: pems.cert,
            SNICallback: (name, done) => {
              names.push(name)
              done(null)
            },
          },
          (req, res) => {
            names.push(req.headers.host ?? '')
            answer(req, res)
          },
        ),
      )

    it('sends the host name for SNI and Host and checks the certificate against it, not against the address', async () => {
      const names: string[] = []
      const receiver = await tlsReceiver(names)
      expect(await post(agent({ ca: pems.cert }), `https://hook.example.com:${receiver.port}/`)).toBe(200)
      expect(names).toEqual(['hook.example.com', `hook.example.com:${receiver.port}`])
    })

    it('leaves the root dot of a name out of SNI, where it is not allowed', async () => {
      const names: string[] = []
      const receiver = await tlsReceiver(names)
      expect(await post(agent({ ca: pems.cert }), `https://hook.example.com.:${receiver.port}/`)).toBe(200)
      expect(names[0]).toBe('hook.example.com')
    })

    it('gives up a receiver that accepts the connection and never shakes hands', async () => {
      const receiver = await start(createTcpServer((socket) => socket.on('error', () => undefined).resume()))
      const url = `https://hook.example.com:${receiver.port}/`
      await expect(post(agent({ connectTimeoutMs: 100 }), url)).rejects.toMatchObject({
        code: 'UND_ERR_CONNECT_TIMEOUT',
      })
      const [socket] = receiver.connections
      if (!socket?.destroyed) await once(socket as Socket, 'close')
    })

    it('speaks HTTP/1.1 to a receiver that would rather have HTTP/2', async () => {
      const offered: unknown[] = []
      const receiver = await start(
        createTlsServer(
          {
            key: pems.private,
            cert: pems.cert,
            ALPNCallback: ({ protocols }) => {
              offered.push(...protocols)
              return 'http/1.1'
            },
          },
          answer,
        ),
      )
      expect(await post(agent({ ca: pems.cert }), `https://hook.example.com:${receiver.port}/`)).toBe(200)
      expect(offered).toEqual(['http/1.1'])
    })

    it('speaks no TLS below 1.2, even in a process that was told to be lenient', async () => {
      const { DEFAULT_MIN_VERSION: version, DEFAULT_CIPHERS: ciphers } = tls
      cleanups.push(() => Object.assign(tls, { DEFAULT_MIN_VERSION: version, DEFAULT_CIPHERS: ciphers }))
      Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' })
      const old = await start(
        createTlsServer({ key: pems.private, cert: pems.cert, maxVersion: 'TLSv1.1' }, answer),
      )
      const url = `https://hook.example.com:${old.port}/`
      await expect(post(agent({ ca: pems.cert }), url)).rejects.toMatchObject({
        code: expect.stringMatching(/^(EPROTO|ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)$/),
      })
    })

    it('refuses a certificate of another name', async () => {
      const receiver = await tlsReceiver()
      await expect(
        post(agent({ ca: pems.cert }), `https://other.example.com:${receiver.port}/`),
      ).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    })

    it('refuses a certificate of an authority it does not know', async () => {
      const receiver = await tlsReceiver()
      await expect(post(agent(), `https://hook.example.com:${receiver.port}/`)).rejects.toMatchObject({
        code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      })
    })
  })
})
