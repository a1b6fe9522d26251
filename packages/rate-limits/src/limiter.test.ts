import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startPrivateRedis, TestClock, testRedis, waitFor } from '@signet/testkit'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createLimiter, type Limit, type Limiter } from './index.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const clock = new TestClock()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function connected(url: string): Promise<Redis> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false })
  redis.on('error', () => undefined)
  cleanups.push(() => redis.disconnect())
  await waitFor(() => redis.status === 'ready')
  return redis
}

const { url, prefix } = testRedis()
const inMemory = () => Promise.resolve([createLimiter({ prefix, now: clock.now })])
const inRedis = async () => {
  const replicas = await Promise.all([connected(url), connected(url)])
  return replicas.map((redis) => createLimiter({ prefix, redis }))
}

const aWindow = (amount: number, windowMs = HOUR_MS): Limit => ({ key: randomUUID(), amount, windowMs })
const aBucket = (amount: number, everyMs = MINUTE_MS): Limit => ({ key: randomUUID(), amount, everyMs })

/** Makes simultaneous calls, spread over the replicas, and returns how many get what they ask for. */
async function taken(replicas: Limiter[], all: Limit[], tries = 20) {
  const answers = await Promise.all(
    Array.from({ length: tries }, async (_, index) => replicas[index % replicas.length]?.take(all)),
  )
  return answers.filter((answer) => answer?.waitMs === 0).length
}

describe.each([
  ['in memory', inMemory],
  ['in Redis, shared by replicas', inRedis],
])('limits %s', (_name, make) => {
  it.each([
    ['windows', aWindow],
    ['buckets', aBucket],
  ])('give simultaneous callers exactly what is left: %s', async (_kind, aLimit) => {
    const limiters = await make()
    expect(await taken(limiters, [aLimit(7)])).toBe(7)
    expect(await taken(limiters, [aLimit(0)])).toBe(0)
  })

  it('count each key separately', async () => {
    const limiters = await make()
    const limit = aWindow(1)
    expect(await taken(limiters, [limit])).toBe(1)
    expect(await taken(limiters, [{ ...limit, key: randomUUID() }])).toBe(1)
  })

  it('take from all or from none', async () => {
    const limiters = await make()
    const [small, large] = [aWindow(2), aWindow(9)]
    expect(await taken(limiters, [large, small])).toBe(2)
    // The refused calls have taken nothing from the large one.
    expect(await taken(limiters, [large])).toBe(7)
  })

  it('say how long to wait: to the end of the window, or for the next one', async () => {
    const [limiter] = await make()
    for (const [limit, longest] of [
      [aWindow(1), HOUR_MS],
      [aBucket(1), MINUTE_MS],
    ] as const) {
      expect(await limiter?.take([limit])).toEqual({ waitMs: 0, taken: [limit] })
      // Being refused often does not make a caller wait longer.
      for (let tries = 0; tries < 50; tries++) {
        const { waitMs = 0 } = (await limiter?.take([limit])) ?? {}
        expect(waitMs).toBeGreaterThan(longest * 0.9)
        expect(waitMs).toBeLessThanOrEqual(longest)
      }
    }
  })

  it.each([
    ['window', aWindow],
    ['bucket', aBucket],
  ])('can use again what was put back into a %s', async (_kind, aLimit) => {
    const limiters = await make()
    const limit = aLimit(3)
    for (let times = 0; times < 5; times++) {
      const { taken: used = [] } = (await limiters[0]?.take([limit])) ?? {}
      expect(used).toEqual([limit])
      await limiters[0]?.putBack(used)
    }
    expect(await taken(limiters, [limit])).toBe(3)
    // Nothing was taken, so putting it back adds nothing.
    const untouched = aLimit(1)
    await limiters[0]?.putBack([untouched])
    expect(await taken(limiters, [untouched])).toBe(1)
  })
})

describe('limits in memory', () => {
  it('are full again after the window, and gain one at the pace of a bucket, but never more than they hold', async () => {
    const limiters = await inMemory()
    const [window, bucket] = [aWindow(2), aBucket(2)]
    expect(await taken(limiters, [window])).toBe(2)
    expect(await taken(limiters, [bucket])).toBe(2)
    clock.advance(MINUTE_MS)
    expect([await taken(limiters, [window]), await taken(limiters, [bucket])]).toEqual([0, 1])
    clock.advance(HOUR_MS)
    expect([await taken(limiters, [window]), await taken(limiters, [bucket])]).toEqual([2, 2])
  })

  it('forget clients that are gone instead of growing', async () => {
    const [limiter] = await inMemory()
    const before = heapAfterCollection()
    for (let client = 0; client < 400_000; client++)
      await limiter?.take([{ key: `client-${client}`, amount: 1, everyMs: MINUTE_MS }])
    expect(heapAfterCollection() - before).toBeLessThan(25_000_000)
    // The limiter still knows the last client.
    expect(await limiter?.take([{ key: 'client-399999', amount: 1, everyMs: MINUTE_MS }])).toMatchObject({
      taken: [],
    })
  })
})

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

describe('limits in Redis', () => {
  it.each([
    ['window', aWindow(3, MINUTE_MS)],
    ['bucket', aBucket(3)],
  ])('keep the key of a %s no longer than it matters', async (_kind, limit) => {
    const [limiter] = await inRedis()
    await limiter?.take([limit])
    const ttl = await (await connected(url)).pttl(`${prefix}:${limit.key}`)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(MINUTE_MS)
  })
})

describe('limits whose Redis does not respond', () => {
  async function withPrivateRedis() {
    const server = await startPrivateRedis()
    cleanups.push(() => server.remove())
    const limiters = [createLimiter({ prefix, redis: await connected(server.url), now: clock.now })]
    return { server, limiters }
  }

  it('are counted in the process while it is down', async () => {
    const { server, limiters } = await withPrivateRedis()
    const limit = aWindow(3)
    expect(await taken(limiters, [limit])).toBe(3)
    await server.kill('SIGKILL')
    expect(await taken(limiters, [limit])).toBe(3)
  })

  it('are counted in the process while it hangs, and only the first callers wait for it', async () => {
    const { server, limiters } = await withPrivateRedis()
    process.kill(server.pid, 'SIGSTOP')
    cleanups.push(() => process.kill(server.pid, 'SIGCONT'))
    const limit = aWindow(1000)
    // One after another: if each call waited a second for Redis, the test would time out.
    let allowed = 0
    for (let calls = 0; calls < 50; calls++) if ((await taken(limiters, [limit], 1)) === 1) allowed++
    expect(allowed).toBe(50)
  })
})
