import { startPrivateRedis, TestClock, testRedis, waitFor } from '@signet/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import { META } from './support/meta.js'
import { anObserver } from './support/observer.js'
import { connectLimitRedis } from '../src/rate-limits/limit-redis.js'
import {
  createRateLimits,
  type KeyedLimit,
  type RateLimitRules,
  type RateLimits,
} from '../src/rate-limits/rate-limits.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const defaults: RateLimitRules = {
  burst: 30,
  tokenRefresh: 150,
  failedSignIns: 30,
  sharedAddressFactor: 10,
  verify: 30,
  otp: 30,
  anonymousUsers: 30,
  passkey: 30,
  mfaChallengeAndVerify: 15,
}

const client = (key: string, shared = false) => ({ key, shared })

const observerOf = (lines: string[]) => anObserver((line) => lines.push(line))

function setUp(rules: Partial<RateLimitRules> = {}) {
  const lines: string[] = []
  const clock = new TestClock()
  const ports = { observer: observerOf(lines), redis: undefined, prefix: 'auth', now: clock.now }
  return { limits: createRateLimits({ ...defaults, ...rules }, ports), lines, clock }
}

/** Sets up limits that count in Redis, once it is connected. */
async function setUpShared(url: string, prefix = 'auth') {
  const lines: string[] = []
  const observer = observerOf(lines)
  const redis = await connectLimitRedis(url, observer)
  cleanups.push(() => redis.disconnect())
  await waitFor(() => redis.status === 'ready')
  return {
    limits: createRateLimits(defaults, { observer, redis, prefix, now: new TestClock().now }),
    lines,
    redis,
  }
}

async function burst(consume: () => Promise<void>): Promise<{ taken: number; refusal: unknown }> {
  for (let taken = 0; taken < 1000; taken++) {
    try {
      await consume()
    } catch (refusal) {
      return { taken, refusal }
    }
  }
  return { taken: Infinity, refusal: undefined }
}

describe('rate limits by client (docs/specification.md#rate-limits)', () => {
  const MINUTE = 60_000
  it.each<[string, (limits: RateLimits) => KeyedLimit, number, number]>([
    ['token: 150 in 5 minutes', (limits) => limits.token, 2 * MINUTE, 60],
    ['verify: 30 in 5 minutes', (limits) => limits.verify, MINUTE, 6],
    ['otp: 30 in 5 minutes', (limits) => limits.otp('/signup'), MINUTE, 6],
    ['anonymous: 30 in 1 hour', (limits) => limits.anonymous, 10 * MINUTE, 5],
    ['factor enrollment: 15 in 1 minute', (limits) => limits.mfaEnroll, MINUTE, 15],
    ['factor challenge: 15 in 1 minute', (limits) => limits.mfaChallenge, MINUTE, 15],
    ['factor verify: 15 in 1 minute', (limits) => limits.mfaVerify, MINUTE, 15],
  ])('%s, after a burst of 30', async (_name, pick, afterMs, more) => {
    const { limits, clock } = setUp()
    const consume = () => pick(limits).consume(client('192.0.2.1'), META.requestId)
    const first = await burst(consume)
    expect(first.taken).toBe(30)
    expect(first.refusal).toMatchObject({ kind: 'limited', code: 'over_request_rate_limit' })
    expect((first.refusal as { retryAfterSeconds: number }).retryAfterSeconds).toBeGreaterThan(0)
    clock.advance(afterMs)
    expect((await burst(consume)).taken).toBe(Math.min(more, 30))
  })

  it('keeps a bucket per endpoint and client', async () => {
    const { limits } = setUp()
    await burst(() => limits.otp('/signup').consume(client('192.0.2.1'), META.requestId))
    await expect(limits.otp('/signup').consume(client('192.0.2.1'), META.requestId)).rejects.toThrow()
    await expect(limits.otp('/recover').consume(client('192.0.2.1'), META.requestId)).resolves.toBeUndefined()
    await expect(limits.otp('/signup').consume(client('192.0.2.2'), META.requestId)).resolves.toBeUndefined()
    await expect(limits.mfaVerify.consume(client('192.0.2.1'), META.requestId)).resolves.toBeUndefined()
  })

  it('allows more from an address that may be a shared proxy, and logs once how to tell clients apart', async () => {
    const { limits, lines } = setUp()
    const consume = () => limits.otp('/otp').consume(client('10.0.0.1', true), META.requestId)
    expect((await burst(consume)).taken).toBe(300)
    await expect(consume()).rejects.toThrow()
    expect(lines.filter((line) => line.includes('AUTH_SECURITY_FORWARDED_FOR_ENABLED'))).toHaveLength(1)
  })

  it('counts failures only', async () => {
    const { limits } = setUp()
    const at = client('192.0.2.1')
    for (let attempt = 0; attempt < 100; attempt++) {
      expect(await limits.failedSignIns.take(at)).toBe(0)
      await limits.failedSignIns.putBack(at)
    }
    const waits = await Promise.all(Array.from({ length: 50 }, () => limits.failedSignIns.take(at)))
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(30)
  })

  it('allows nothing at 0', async () => {
    const { limits } = setUp({ verify: 0 })
    await expect(limits.verify.consume(client('192.0.2.1'), META.requestId)).rejects.toMatchObject({
      code: 'over_request_rate_limit',
    })
  })
})

describe('rate limits in Redis', () => {
  const anyClient = () => client(`client-${Math.random()}`)

  it('are shared by replicas', async () => {
    const { url } = testRedis()
    const [one, two] = await Promise.all([setUpShared(url), setUpShared(url)])
    const key = anyClient()
    const startedAt = performance.now()
    const { taken } = await burst(() => one.limits.verify.consume(key, META.requestId))
    const { taken: more } = await burst(() => two.limits.verify.consume(key, META.requestId))
    // The clock of Redis counts here, and the bucket gains one request every ten seconds.
    const gained = Math.ceil((performance.now() - startedAt) / 10_000)
    expect(taken + more).toBeLessThanOrEqual(30 + gained)
    expect(more).toBeLessThanOrEqual(gained)
  })

  it('are not shared by deployments with another prefix, which all keys have', async () => {
    const { url } = testRedis()
    const [ours, theirs] = [`ours-${Math.random()}`, `theirs-${Math.random()}`]
    const [one, two] = await Promise.all([setUpShared(url, ours), setUpShared(url, theirs)])
    const key = anyClient()
    expect((await burst(() => one.limits.verify.consume(key, META.requestId))).taken).toBeGreaterThan(29)
    expect((await burst(() => two.limits.verify.consume(key, META.requestId))).taken).toBeGreaterThan(29)
    const keys = await one.redis.keys(`*${key.key}`)
    expect(keys.sort()).toEqual([`${ours}:limit:verify:${key.key}`, `${theirs}:limit:verify:${key.key}`])
  })

  it('continue in memory while Redis is down', async () => {
    const server = await startPrivateRedis()
    cleanups.push(() => server.remove())
    const { limits, lines } = await setUpShared(server.url)
    const key = anyClient()
    await limits.verify.consume(key, META.requestId)
    await server.kill('SIGKILL')
    expect((await burst(() => limits.verify.consume(key, META.requestId))).taken).toBe(30)
    await waitFor(() => lines.some((line) => line.includes('unreachable')))
  })
})
