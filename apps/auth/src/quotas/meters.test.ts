import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startPrivateRedis, TestClock, testRedis, waitFor } from '@signet/testkit'
import { Redis } from 'ioredis'
import { createMeters, HOUR_MS, type Meter, type Meters } from './meters.js'

const clock = new TestClock()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function connected(url: string): Promise<Redis> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false, commandTimeout: 500 })
  redis.on('error', () => undefined)
  cleanups.push(() => redis.disconnect())
  await waitFor(() => redis.status === 'ready')
  return redis
}

const inMemory = () => Promise.resolve([createMeters(undefined, clock.now)])
const inRedis = async () => {
  const { url } = testRedis()
  const replicas = await Promise.all([connected(url), connected(url)])
  return replicas.map((redis) => createMeters(redis, clock.now))
}

const aMeter = (amount: number, everyMs?: number): Meter => ({ key: randomUUID(), amount, everyMs })
const taken = async (replicas: Meters[], all: Meter[], pools: Meter[], tries = 20) => {
  const answers = await Promise.all(
    Array.from({ length: tries }, async (_, index) => replicas[index % replicas.length]?.take(all, pools)),
  )
  return answers.filter((answer) => answer?.waitMs === 0).length
}

describe.each([
  ['in memory', inMemory],
  ['in Redis, shared by replicas', inRedis],
])('meters %s', (_name, make) => {
  it.each([undefined, HOUR_MS])('give exactly what there is to parallel callers (pace %s)', async (pace) => {
    const meters = await make()
    expect(await taken(meters, [aMeter(7, pace)], [])).toBe(7)
    expect(await taken(meters, [aMeter(0, pace)], [])).toBe(0)
  })

  it('take from all or from none, and from the first pool that has one left', async () => {
    const meters = await make()
    const [small, large, pool, reserve] = [aMeter(2), aMeter(9), aMeter(3), aMeter(1)]
    expect(await taken(meters, [large, small], [])).toBe(2)
    expect(await taken(meters, [large], [pool, reserve])).toBe(4)
    // What the refused calls did not use.
    expect(await taken(meters, [large], [])).toBe(3)
  })

  it('tell how long to wait: to the end of the hour, or for the next one', async () => {
    const [meters] = await make()
    const [hourly, bucket] = [aMeter(1), aMeter(1, 60_000)]
    for (const [meter, longest] of [
      [hourly, HOUR_MS],
      [bucket, 60_000],
    ] as const) {
      expect(await meters?.take([meter], [])).toEqual({ waitMs: 0, taken: [meter] })
      const { waitMs = 0 } = (await meters?.take([meter], [])) ?? {}
      expect(waitMs).toBeGreaterThan(longest * 0.9)
      expect(waitMs).toBeLessThanOrEqual(longest)
    }
  })

  it.each([undefined, 60_000])('have back what was put back (pace %s)', async (pace) => {
    const meters = await make()
    const meter = aMeter(3, pace)
    const { taken: used = [] } = (await meters[0]?.take([meter], [])) ?? {}
    await meters[0]?.putBack(used)
    expect(await taken(meters, [meter], [])).toBe(3)
  })
})

describe('meters whose Redis is away', () => {
  it('go on counting in the process', async () => {
    const server = await startPrivateRedis()
    cleanups.push(() => server.remove())
    const meters = [createMeters(await connected(server.url), clock.now)]
    const meter = aMeter(3)
    expect(await taken(meters, [meter], [])).toBe(3)
    await server.kill('SIGKILL')
    expect(await taken(meters, [meter], [])).toBe(3)
  })
})

describe('meters in memory', () => {
  it('are full again after the hour, and gain one at their pace', async () => {
    const meters = await inMemory()
    const [hourly, bucket] = [aMeter(2), aMeter(2, 60_000)]
    expect(await taken(meters, [hourly], [])).toBe(2)
    expect(await taken(meters, [bucket], [])).toBe(2)
    clock.advance(60_000)
    expect([await taken(meters, [hourly], []), await taken(meters, [bucket], [])]).toEqual([0, 1])
    clock.advance(HOUR_MS)
    expect(await taken(meters, [hourly], [])).toBe(2)
  })
})
