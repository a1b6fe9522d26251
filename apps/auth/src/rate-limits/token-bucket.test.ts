import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { testRedis, TestClock } from '@signet/testkit'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from '@jest/globals'
import { memoryBucket, redisBucket, type BucketShape, type TakeToken } from './token-bucket.js'

const { url, prefix } = testRedis()
const redis = new Redis(url)
afterAll(() => redis.quit())

let buckets = 0
const implementations: Record<string, (shape: BucketShape) => TakeToken> = {
  memory: (shape) => memoryBucket(shape, () => new Date()),
  Redis: (shape) => redisBucket(redis, `${prefix}:bucket-${buckets++}`, shape),
}

describe.each(Object.entries(implementations))('token bucket in %s', (_name, make) => {
  const slow = { capacity: 3, everyMs: 60_000 }

  it('gives as many tokens at once as it holds, then says how long to wait', async () => {
    const take = make(slow)
    for (let taken = 0; taken < 3; taken++) await expect(take('a')).resolves.toBe(0)
    const waitMs = await take('a')
    expect(waitMs).toBeGreaterThan(59_000)
    expect(waitMs).toBeLessThanOrEqual(60_000)
  })

  it('does not count what it refused', async () => {
    const take = make(slow)
    for (let tries = 0; tries < 50; tries++) await take('a')
    expect(await take('a')).toBeLessThanOrEqual(60_000)
  })

  it('counts each key by itself', async () => {
    const take = make({ ...slow, capacity: 1 })
    await expect(take('a')).resolves.toBe(0)
    await expect(take('b')).resolves.toBe(0)
    expect(await take('a')).toBeGreaterThan(0)
  })

  it('gives the last tokens to exactly as many of many simultaneous callers', async () => {
    const take = make({ ...slow, capacity: 10 })
    const waits = await Promise.all(Array.from({ length: 100 }, () => take('a')))
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(10)
  })

  it('takes back what was not used', async () => {
    const take = make(slow)
    for (let round = 0; round < 10; round++) {
      await expect(take('a')).resolves.toBe(0)
      await take('a', 'put back')
    }
    for (let taken = 0; taken < 3; taken++) await expect(take('a')).resolves.toBe(0)
    expect(await take('a')).toBeGreaterThan(0)
    await take('b', 'put back')
    for (let taken = 0; taken < 3; taken++) await expect(take('b')).resolves.toBe(0)
    expect(await take('b')).toBeGreaterThan(0)
  })

  it('gains one token after the time it named', async () => {
    const take = make({ capacity: 2, everyMs: 300 })
    await take('a')
    await take('a')
    const waitMs = await take('a')
    await new Promise((resolve) => setTimeout(resolve, waitMs + 5))
    await expect(take('a')).resolves.toBe(0)
    expect(await take('a')).toBeGreaterThan(0)
  })
})

describe('token bucket in memory', () => {
  it('is full again after capacity times the interval, and no fuller than that', async () => {
    const clock = new TestClock()
    const take = memoryBucket({ capacity: 30, everyMs: 2000 }, clock.now)
    const burst = async () => {
      let taken = 0
      while ((await take('a')) === 0) taken++
      return taken
    }
    expect(await burst()).toBe(30)
    clock.advance(10_000)
    expect(await burst()).toBe(5)
    clock.advance(3_600_000)
    expect(await burst()).toBe(30)
  })

  it('forgets clients that are gone instead of growing', async () => {
    const clock = new TestClock()
    const take = memoryBucket({ capacity: 1, everyMs: 1000 }, clock.now)
    const before = heapAfterCollection()
    for (let client = 0; client < 400_000; client++) await take(`client-${client}`)
    expect(heapAfterCollection() - before).toBeLessThan(20_000_000)
    // The last one seen is still known.
    expect(await take('client-399999')).toBeGreaterThan(0)
  })
})

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

describe('token bucket in Redis', () => {
  it('keeps a key no longer than it takes the bucket to be full', async () => {
    const key = `${prefix}:expiry`
    await redisBucket(redis, key, { capacity: 3, everyMs: 60_000 })('a')
    const ttl = await redis.pttl(`${key}:a`)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(60_000)
  })

  it('is shared by all that use the same Redis', async () => {
    const shape = { capacity: 1, everyMs: 60_000 }
    const key = `${prefix}:shared`
    await expect(redisBucket(redis, key, shape)('a')).resolves.toBe(0)
    expect(await redisBucket(redis, key, shape)('a')).toBeGreaterThan(0)
  })
})
