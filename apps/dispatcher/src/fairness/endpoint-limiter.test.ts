import { describe, expect, it } from '@jest/globals'
import { EndpointLimiter, type Acquisition, type Permit } from './endpoint-limiter.js'

function setUp(options: { concurrency?: number; perEndpoint?: number } = {}) {
  let nowMs = 0
  const limiter = new EndpointLimiter({
    concurrency: options.concurrency ?? 100,
    perEndpoint: options.perEndpoint ?? 8,
    now: () => nowMs,
    random: () => 0.5,
  })
  const acquireNow = (id: string): Acquisition => {
    const acquired = limiter.acquire(id)
    if (acquired instanceof Promise) throw new Error('it waits')
    return acquired
  }
  const permitOf = (acquired: Acquisition): Permit => {
    if (!('permit' in acquired)) throw new Error(`no permit: ${acquired.reason}`)
    return acquired.permit
  }
  const once = (id: string, tookMs: number) => {
    const permit = permitOf(acquireNow(id))
    nowMs += tookMs
    permit.release()
  }
  return { limiter, acquireNow, permitOf, once, pass: (ms: number) => (nowMs += ms) }
}

describe('EndpointLimiter', () => {
  it('allows no more attempts to one endpoint than its limit, and the next one when a permit is released', async () => {
    const { limiter, acquireNow, permitOf, once } = setUp()
    once('a', 10)
    const permits = Array.from({ length: 8 }, () => permitOf(acquireNow('a')))
    const ninth = limiter.acquire('a')
    expect(ninth).toBeInstanceOf(Promise)
    expect(limiter.size).toBe(8)
    permits[0]?.release()
    expect(await ninth).toHaveProperty('permit')
    expect(limiter.size).toBe(8)
  })

  it('lets a caller wait in the process if its turn comes within half a second, and defers the others', () => {
    const { limiter, acquireNow, once } = setUp({ perEndpoint: 1 })
    once('a', 120)
    acquireNow('a')
    for (let i = 0; i < 4; i += 1) expect(limiter.acquire('a')).toBeInstanceOf(Promise)
    expect(limiter.acquire('a')).toMatchObject({ reason: 'endpoint_full' })
  })

  it('lets everybody wait where permits are released quickly', () => {
    const { limiter, acquireNow, once } = setUp({ perEndpoint: 8 })
    once('a', 20)
    for (let i = 0; i < 8; i += 1) acquireNow('a')
    for (let i = 0; i < 500; i += 1) expect(limiter.acquire('a')).toBeInstanceOf(Promise)
  })

  it('releases a permit once, however often it is told to', () => {
    const { limiter, acquireNow, permitOf } = setUp()
    const permit = permitOf(acquireNow('a'))
    permitOf(acquireNow('a'))
    permit.release()
    permit.release()
    expect(limiter.size).toBe(1)
  })

  it('defers jobs of an endpoint that hangs at once, each to a later time', () => {
    const { acquireNow, pass } = setUp()
    for (let i = 0; i < 8; i += 1) acquireNow('hanging')
    pass(1001)
    const deferred = [1, 2, 3].map(() => acquireNow('hanging'))
    const waits = deferred.map((acquired) => ('deferMs' in acquired ? acquired.deferMs : 0))
    expect(waits[0]).toBeGreaterThanOrEqual(50)
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0)
    expect(waits[2]).toBeGreaterThan(waits[1] ?? 0)
  })

  it('retries a job that was deferred before soon, not behind the newcomers', () => {
    const { limiter, acquireNow, once } = setUp()
    once('slow', 2000)
    for (let i = 0; i < 108; i += 1) acquireNow('slow')
    const newcomer = acquireNow('slow')
    const again = limiter.acquire('slow', true)
    expect(newcomer).toMatchObject({ deferMs: expect.any(Number) })
    expect(again).toMatchObject({ deferMs: 8000 })
    expect('deferMs' in newcomer ? newcomer.deferMs : 0).toBeGreaterThan(20_000)
  })

  it('never defers a job for longer than the maximum, however many wait', () => {
    const { acquireNow, once } = setUp()
    once('slow', 5000)
    for (let i = 0; i < 8; i += 1) acquireNow('slow')
    let longest = 0
    for (let i = 0; i < 5000; i += 1) {
      const acquired = acquireNow('slow')
      longest = Math.max(longest, 'deferMs' in acquired ? acquired.deferMs : 0)
    }
    expect(longest).toBeLessThanOrEqual(30_000 * 1.1)
  })

  it('keeps three quarters of the permits free of slow endpoints, however many there are', () => {
    const { limiter, acquireNow, once } = setUp()
    for (let i = 0; i < 50; i += 1) once(`slow-${i}`, 5000)
    once('prompt', 5)
    for (let round = 0; round < 8; round += 1) for (let i = 0; i < 50; i += 1) acquireNow(`slow-${i}`)
    expect(limiter.size).toBe(25)
    expect(acquireNow('prompt')).toHaveProperty('permit')
  })

  it('keeps half of the permits free of endpoints it has not measured', () => {
    const { limiter, acquireNow } = setUp()
    for (let i = 0; i < 200; i += 1) acquireNow(`new-${i}`)
    expect(limiter.size).toBe(50)
    expect(acquireNow('another')).toEqual({ deferMs: expect.any(Number), reason: 'slow_endpoints_full' })
  })

  it('treats an endpoint as slow while an attempt hangs, and as fast again after a quick response', () => {
    const { acquireNow, permitOf, once, pass } = setUp({ concurrency: 4 })
    once('a', 5)
    const hanging = permitOf(acquireNow('a'))
    pass(1001)
    expect(acquireNow('a')).toMatchObject({ reason: 'slow_endpoints_full' })
    pass(4000)
    hanging.release()
    once('a', 5)
    expect(acquireNow('a')).toHaveProperty('permit')
    expect(acquireNow('a')).toHaveProperty('permit')
  })

  it('defers callers that wait for their endpoint when it closes', async () => {
    const { limiter, acquireNow, once } = setUp({ perEndpoint: 1 })
    once('a', 10)
    acquireNow('a')
    const waiting = limiter.acquire('a')
    limiter.close()
    expect(await waiting).toMatchObject({ reason: 'closing' })
    expect(limiter.acquire('b')).toMatchObject({ reason: 'closing' })
  })

  it('allows no more attempts than the process limit and serves the others first come, first served', async () => {
    const { limiter, acquireNow, permitOf, once } = setUp({ concurrency: 2 })
    for (const id of ['a', 'b', 'c']) once(id, 5)
    const permits = [permitOf(acquireNow('a')), permitOf(acquireNow('a'))]
    const order: string[] = []
    const queued = ['b', 'c'].map(async (id) => {
      const permit = permitOf(await limiter.acquire(id))
      order.push(id)
      return permit
    })
    expect(limiter.size).toBe(2)
    permits[0]?.release()
    const second = await queued[0]
    expect([order, limiter.size]).toEqual([['b'], 2])
    second?.release()
    await queued[1]
    expect([order, limiter.size]).toEqual([['b', 'c'], 2])
  })

  it('counts a caller that is queued for the process limit toward its endpoint', () => {
    const { limiter, acquireNow, once } = setUp({ concurrency: 1, perEndpoint: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    acquireNow('a')
    expect(limiter.acquire('b')).toBeInstanceOf(Promise)
    // These get a permit within half a second; the next one would not.
    for (let i = 0; i < 100; i += 1) expect(limiter.acquire('b')).toBeInstanceOf(Promise)
    expect(limiter.acquire('b')).toMatchObject({ reason: 'endpoint_full' })
    expect(limiter.size).toBe(1)
  })

  it('defers callers that are queued for the process limit when it closes', async () => {
    const { limiter, acquireNow, once } = setUp({ concurrency: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    acquireNow('a')
    const queued = limiter.acquire('b')
    limiter.close()
    expect(await queued).toMatchObject({ reason: 'closing' })
    expect(limiter.size).toBe(1)
  })

  it('works with a concurrency of one', () => {
    const { acquireNow, once } = setUp({ concurrency: 1, perEndpoint: 1 })
    once('slow', 5000)
    expect(acquireNow('slow')).toHaveProperty('permit')
  })
})
