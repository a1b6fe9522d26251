import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { holdsInSomeRun, waitFor } from '@signet/testkit'
import { Redis } from 'ioredis'
import { describe, expect, it } from '@jest/globals'
import { connectRedis, redisOptions } from '../src/connection.js'

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

  it('lets workers wait for Redis, and requests give up within two seconds', () => {
    expect(redisOptions({ url: 'redis://h' }, 'worker').maxRetriesPerRequest).toBeNull()
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
      // A tenth of the time, and no other limit that could be the one that is seen.
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

  it('lets a process that gave up end: nothing of a connection for requests outlives it by long', async () => {
    const program = `
      import { connectRedis } from '@signet/redis'
      const redis = connectRedis({ url: 'redis://127.0.0.1:1' }, 'request')
      redis.on('error', () => undefined)
      redis.once('reconnecting', () => {
        const left = performance.now()
        process.once('exit', () => console.log(performance.now() - left))
        redis.disconnect()
      })`
    const cwd = fileURLToPath(new URL('../../../apps/dispatcher', import.meta.url))
    await holdsInSomeRun(async () => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '--eval', program],
        { cwd },
      )
      expect(Number(stdout)).toBeLessThan(1000)
    })
  })
})
