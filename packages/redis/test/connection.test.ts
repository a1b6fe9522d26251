import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { waitFor } from '@signet/testkit'
import { Cluster, Redis } from 'ioredis'
import { describe, expect, it } from '@jest/globals'
import { connectRedis, redisOptions } from '../src/connection.js'

/** The first byte of a TLS handshake (RFC 8446, 5.1). */
const TLS_HANDSHAKE = 22

/** A server that never answers, and records what it receives. */
async function listener() {
  const sockets = new Set<Socket>()
  let bytes = Buffer.alloc(0)
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (more) => (bytes = Buffer.concat([bytes, more])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    received: () => bytes,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

describe('connectRedis', () => {
  it.each([
    ['http://127.0.0.1:6379', {}, /redis:\/\//],
    ['redis://127.0.0.1', { clusterNodes: ['127.0.0.1'] }, /host:port/],
    ['redis://mymaster', { sentinels: ['sentinel:x'] }, /host:port/],
  ])('refuses %s %j', (url, more, message) => {
    expect(() => connectRedis({ url, ...more }, 'worker')).toThrow(message)
  })

  it('reads user, password, database, TLS and IPv6 host from the URL', () => {
    expect(redisOptions({ url: 'rediss://me:p%40ss@[::1]:6380/3' }, 'worker')).toMatchObject({
      host: '::1',
      port: 6380,
      username: 'me',
      password: 'p@ss',
      db: 3,
      tls: {},
    })
  })

  it('asks the sentinels for the master group that is the host of the URL', () => {
    expect(
      redisOptions({ url: 'redis://mymaster', sentinels: ['127.0.0.1:1', '[::1]:2'] }, 'worker'),
    ).toMatchObject({
      name: 'mymaster',
      sentinels: [
        { host: '127.0.0.1', port: 1 },
        { host: '::1', port: 2 },
      ],
    })
  })

  it('sends nothing in clear to sentinels of rediss://, nor to the master that they name', async () => {
    const { port, received, close } = await listener()
    const settings = {
      url: 'rediss://:the-password@mymaster',
      sentinels: [`127.0.0.1:${port}`],
      sentinelPassword: 'theirs',
    }
    const redis = connectRedis(settings, 'request')
    redis.on('error', () => undefined)
    await waitFor(() => received().length > 0)
    expect(received()[0]).toBe(TLS_HANDSHAKE)
    redis.disconnect()
    await close()
    expect(redisOptions(settings, 'request')).toMatchObject({
      enableTLSForSentinelMode: true,
      sentinelPassword: 'theirs',
    })
    expect(redisOptions({ ...settings, url: 'redis://mymaster' }, 'request')).toMatchObject({
      enableTLSForSentinelMode: false,
      sentinelTLS: undefined,
    })
  })

  it('dials the nodes of a cluster by their names, which their certificates have', () => {
    const redis = connectRedis({ url: 'rediss://ignored', clusterNodes: ['node.invalid:1'] }, 'request')
    redis.on('error', () => undefined)
    if (!(redis instanceof Cluster)) throw new Error('not a cluster')
    const dialed: unknown[] = []
    redis.options.dnsLookup?.('node.invalid', (error, address) => dialed.push(error, address))
    expect(dialed).toEqual([null, 'node.invalid'])
    redis.disconnect()
  })

  it.each([
    ['a command', "READONLY You can't write against a read only replica."],
    [
      'a script of Redis 6',
      "ERR Error running script (call to f_0f8c1d2e): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
    ],
  ])('connects again when the server has become a replica, as it says to %s', async (_, refusal) => {
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      const answer = connections === 1 ? `-${refusal}\r\n` : '+OK\r\n'
      socket.on('error', () => undefined)
      socket.on('data', (text) => {
        const commands = text.toString().match(/^\*\d+/gm)?.length ?? 0
        socket.write(text.toString().includes('set') ? answer : '+OK\r\n'.repeat(commands))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const redis = new Redis({
      ...redisOptions({ url: `redis://127.0.0.1:${port}` }, 'worker'),
      enableReadyCheck: false,
    })
    redis.on('error', () => undefined)
    await expect(redis.set('a', 'b')).rejects.toThrow('READONLY')
    expect(await redis.set('a', 'b')).toBe('OK')
    expect(connections).toBe(2)
    redis.disconnect()
    server.close()
  })

  it('lets workers wait for Redis, and requests give up within two seconds', () => {
    const worker = redisOptions({ url: 'redis://h' }, 'worker')
    expect(worker).toMatchObject({ maxRetriesPerRequest: null, connectTimeout: 2000, socketTimeout: 5000 })
    expect(redisOptions({ url: 'redis://h' }, 'request')).toMatchObject({
      enableOfflineQueue: false,
      commandTimeout: 2000,
    })
  })

  it.each(['worker', 'request'] as const)(
    'closes the connection to a server that stops responding, as a %s',
    async (role) => {
      const silent = new Set<Socket>()
      const server = createServer((socket) => {
        silent.add(socket)
        socket.on('error', () => undefined)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const options = redisOptions({ url: `redis://127.0.0.1:${port}` }, role)
      // A tenth of the real timeout, and no command timeout, which could end the wait first.
      const redis = new Redis({
        ...options,
        socketTimeout: (options.socketTimeout ?? 0) / 10,
        commandTimeout: undefined,
      })
      const errors: string[] = []
      redis.on('error', ({ message }: Error) => errors.push(message))
      await waitFor(() => errors.some((message) => message.startsWith('Socket timeout')))
      await waitFor(() => silent.size > 1, { describe: 'another connection' })
      redis.disconnect()
      for (const socket of silent) socket.destroy()
      server.close()
    },
  )

  it('lets a process that gave up end: a connection for requests waits for nothing long', async () => {
    const program = `
      import { connectRedis } from '@signet/redis'
      const redis = connectRedis({ url: 'redis://127.0.0.1:1' }, 'request')
      redis.on('error', () => undefined)
      redis.once('reconnecting', () => {
        const waits = [0]
        const { setTimeout } = globalThis
        globalThis.setTimeout = (run, ms, ...more) => {
          waits.push(ms)
          return setTimeout(run, ms, ...more)
        }
        process.once('exit', () => console.log(Math.max(...waits)))
        redis.disconnect()
      })`
    const cwd = fileURLToPath(new URL('../../../apps/dispatcher', import.meta.url))
    const node = promisify(execFile)
    const { stdout } = await node(process.execPath, ['--input-type=module', '--eval', program], { cwd })
    expect(Number(stdout)).toBeLessThanOrEqual(200)
  })
})
