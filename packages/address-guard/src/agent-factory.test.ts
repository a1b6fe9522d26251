import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, it, jest } from '@jest/globals'
import { Agent, Pool, request } from 'undici'
import { droppedWhenUnused } from './agent-factory.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  jest.restoreAllMocks()
})

const LIFE_MS = 60_000

/** A receiver, and what sends it requests over connections that live for a minute. */
async function start() {
  const sockets: Socket[] = []
  const server = createServer((req, res) => void req.resume().on('end', () => res.end('ok')))
  server.on('connection', (socket: Socket) => sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pools: Pool[] = []
  const dispatcher = new Agent({
    clientTtl: LIFE_MS,
    factory: droppedWhenUnused((origin, options) => {
      const pool = new Pool(origin, options)
      pools.push(pool)
      return pool
    }),
  })
  cleanups.push(
    () => server.close(),
    () => dispatcher.destroy(),
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const send = async () => (await request(url, { method: 'POST', body: '{}', dispatcher })).body.dump()
  return { sockets, pools, send }
}

it('uses connections again after the first ones have reached the end of their life', async () => {
  const { sockets, send } = await start()
  await send()
  const now = Date.now()
  jest.spyOn(Date, 'now').mockImplementation(() => now + LIFE_MS + 1)
  for (let i = 0; i < 20; i += 1) await send()
  expect(sockets.length).toBeLessThan(5)
})

it('drops the pool of an origin once its last connection is closed', async () => {
  const { sockets, pools, send } = await start()
  await Promise.all([send(), send()])
  const [pool] = pools as [Pool]
  const [first, second] = sockets as [Socket, Socket]
  first.destroy()
  while (pool.stats.connected > 1) await setImmediate()
  await setImmediate()
  expect(pool.closed).toBe(false)
  second.destroy()
  while (!pool.closed) await setImmediate()
  await send()
  expect(pools).toHaveLength(2)
})
