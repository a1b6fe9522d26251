import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { EndpointLimiter, type Acquisition, type Permit } from './endpoint-limiter.js'

const limiters: EndpointLimiter[] = []
// Callers that still wait have a timer.
afterEach(() => limiters.splice(0).forEach((limiter) => limiter.close()))

function setUp(options: { concurrency?: number; perEndpoint?: number } = {}) {
  let nowMs = 0
  const limiter = new EndpointLimiter({
    concurrency: options.concurrency ?? 100,
    perEndpoint: options.perEndpoint ?? 8,
    now: () => nowMs,
    random: () => 0.5,
  })
  limiters.push(limiter)
  /** Each endpoint belongs to a different account, unless the test says otherwise. */
  const acquire = (id: string, { accountId = `account of ${id}`, wasDeferred = false } = {}) =>
    limiter.acquire({ endpointId: id, accountId }, { wasDeferred })
  const acquireNow = (id: string, options?: Parameters<typeof acquire>[1]): Acquisition => {
    const acquired = acquire(id, options)
    if (acquired instanceof Promise) throw new Error('it waits')
    return acquired
  }
  const permitOf = (acquired: Acquisition): Permit => {
    if (!('permit' in acquired)) throw new Error(`no permit: ${acquired.reason}`)
    return acquired.permit
  }
  const once = (id: string, tookMs: number, accountId?: string) => {
    const permit = permitOf(acquireNow(id, { accountId }))
    nowMs += tookMs
    permit.release()
  }
  return { limiter, acquire, acquireNow, permitOf, once, pass: (ms: number) => (nowMs += ms) }
}

const deferMsOf = (acquired: Acquisition | Promise<Acquisition>): number =>
  'deferMs' in acquired ? acquired.deferMs : 0

describe('EndpointLimiter', () => {
  it('allows no more attempts to one endpoint than its limit, and the next one when a permit is released', async () => {
    const { limiter, acquire, acquireNow, permitOf, once } = setUp()
    once('a', 10)
    const permits = Array.from({ length: 8 }, () => permitOf(acquireNow('a')))
    const ninth = acquire('a')
    expect(ninth).toBeInstanceOf(Promise)
    expect(limiter.size).toBe(8)
    permits[0]?.release()
    expect(await ninth).toHaveProperty('permit')
    expect(limiter.size).toBe(8)
  })

  it('lets a caller wait in the process if its turn comes within half a second, and defers the others', () => {
    const { acquire, acquireNow, once } = setUp({ perEndpoint: 1 })
    once('a', 120)
    acquireNow('a')
    for (let i = 0; i < 4; i += 1) expect(acquire('a')).toBeInstanceOf(Promise)
    expect(acquire('a')).toMatchObject({ reason: 'endpoint_full' })
  })

  it('lets everybody wait where permits are released quickly', () => {
    const { acquire, acquireNow, once } = setUp({ perEndpoint: 8 })
    once('a', 20)
    for (let i = 0; i < 8; i += 1) acquireNow('a')
    for (let i = 0; i < 500; i += 1) expect(acquire('a')).toBeInstanceOf(Promise)
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
    const waits = [1, 2, 3].map(() => deferMsOf(acquireNow('hanging')))
    expect(waits[0]).toBeGreaterThanOrEqual(50)
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0)
    expect(waits[2]).toBeGreaterThan(waits[1] ?? 0)
  })

  it('retries a job that was deferred before soon, not behind the newcomers', () => {
    const { acquire, acquireNow, once } = setUp()
    once('slow', 2000)
    for (let i = 0; i < 108; i += 1) acquireNow('slow')
    const newcomer = acquireNow('slow')
    const again = acquire('slow', { wasDeferred: true })
    expect(again).toMatchObject({ deferMs: 8000 })
    expect(deferMsOf(newcomer)).toBeGreaterThan(20_000)
  })

  it.each([200, 400, 800])(
    'lets %d deferred jobs of an endpoint come back at the same rate, in turn',
    (jobs) => {
      const { acquire, acquireNow, once } = setUp()
      once('slow', 4000)
      for (let i = 0; i < 8; i += 1) acquireNow('slow')
      const waits = Array.from({ length: jobs }, () => deferMsOf(acquire('slow', { wasDeferred: true })))
      expect(waits).toEqual(waits.toSorted((a, b) => a - b))
      // Four for each of the permits, of which the endpoint frees two a second.
      expect(waits.filter((ms) => ms > 16_000 && ms <= 21_000)).toHaveLength(40)
    },
  )

  it('defers a first attempt that waited in the process as a newcomer, and not behind all retries', async () => {
    jest.useFakeTimers()
    try {
      const { acquire, acquireNow, once, pass } = setUp()
      once('a', 100)
      for (let i = 0; i < 8; i += 1) acquireNow('a')
      const [first, again] = [acquire('a'), acquire('a', { wasDeferred: true })]
      pass(1001)
      for (let i = 0; i < 1000; i += 1) acquireNow('a', { wasDeferred: true })
      jest.advanceTimersByTime(1000)
      const waits = [await first, await again].map((acquired) => 'deferMs' in acquired && acquired.deferMs)
      expect(waits).toEqual([125, expect.any(Number)])
      expect(waits[1]).toBeGreaterThan(30_000)
    } finally {
      jest.useRealTimers()
    }
  })

  it('never defers a job for longer than the maximum, however many wait', () => {
    const { acquire, acquireNow, once } = setUp()
    once('slow', 5000)
    for (let i = 0; i < 8; i += 1) acquireNow('slow')
    const longestOf = (again: Parameters<typeof acquire>[1]) => {
      const waits = Array.from({ length: 5000 }, () => acquire('slow', again))
      return Math.max(...waits.map((acquired) => ('deferMs' in acquired ? acquired.deferMs : 0)))
    }
    expect(longestOf({})).toBe(30_000)
    expect(longestOf({ wasDeferred: true })).toBe(300_000)
  })

  it('keeps five sixths of the permits free of slow endpoints of one account, however many it has', () => {
    const { limiter, acquireNow, once } = setUp()
    for (let i = 0; i < 50; i += 1) once(`slow-${i}`, 5000, 'a')
    for (let round = 0; round < 8; round += 1)
      for (let i = 0; i < 50; i += 1) acquireNow(`slow-${i}`, { accountId: 'a' })
    expect(limiter.size).toBe(17)
    expect(acquireNow('new')).toHaveProperty('permit')
  })

  it('keeps half of the permits free of slow and unmeasured endpoints, however many accounts have them', () => {
    const { limiter, acquireNow, once } = setUp()
    once('prompt', 5)
    for (let i = 0; i < 100; i += 1) once(`slow-${i}`, 5000)
    for (let i = 0; i < 100; i += 1) acquireNow(`slow-${i}`)
    for (let i = 0; i < 100; i += 1) acquireNow(`new-${i}`)
    expect(limiter.size).toBe(50)
    expect(acquireNow('another')).toEqual({ deferMs: expect.any(Number), reason: 'slow_endpoints_full' })
    expect(acquireNow('prompt')).toHaveProperty('permit')
  })

  it('leaves permits for new endpoints of others, however many of an account hang', () => {
    const { acquireNow } = setUp()
    for (const accountId of ['a', 'b', 'c'])
      for (let i = 0; i < 200; i += 1) acquireNow(`new-${accountId}-${i}`, { accountId })
    for (let i = 0; i < 5; i += 1) expect(acquireNow('another', { accountId: 'd' })).toHaveProperty('permit')
  })

  it('leaves permits for others when endpoints that were fast hang all at once', () => {
    const { limiter, acquire, acquireNow, once, pass } = setUp()
    const endpoints = Array.from({ length: 50 }, (_, i) => `fast-${i}`)
    for (const id of endpoints) once(id, 5, 'a')
    for (const id of [...endpoints, ...endpoints]) void acquire(id, { accountId: 'a' })
    expect(limiter.size).toBe(75)
    pass(1001)
    expect(acquireNow('new', { accountId: 'b' })).toHaveProperty('permit')
    limiter.close()
  })

  it('leaves permits for others when fast endpoints of twenty accounts hang all at once', () => {
    const { limiter, acquire, acquireNow, once, pass } = setUp()
    const accounts = Array.from({ length: 20 }, (_, i) => `account-${i}`)
    const fast = accounts.flatMap((accountId) =>
      Array.from({ length: 5 }, (_, i) => ({ id: `${accountId}-${i}`, accountId })),
    )
    for (const { id, accountId } of fast) once(id, 5, accountId)
    for (let round = 0; round < 8; round += 1)
      for (const { id, accountId } of fast) void acquire(id, { accountId })
    expect(limiter.size).toBeLessThanOrEqual(96)
    for (const other of ['b', 'c', 'd', 'e'])
      expect(acquireNow(`new-${other}`, { accountId: other })).toHaveProperty('permit')
    pass(1001)
    limiter.close()
  })

  it('gives those who wait for an endpoint no more than its share once it has become slow', async () => {
    const { limiter, acquire, acquireNow, permitOf, once, pass } = setUp()
    const endpoints = ['a', 'b'].flatMap((accountId) =>
      Array.from({ length: 5 }, (_, i) => ({ id: `${accountId}-${i}`, accountId })),
    )
    for (const { id, accountId } of endpoints) once(id, 60, accountId)
    const inFlight = endpoints.flatMap(({ id, accountId }) =>
      Array.from({ length: 8 }, () => permitOf(acquireNow(id, { accountId }))),
    )
    const waiting = endpoints.flatMap(({ id, accountId }) =>
      Array.from({ length: 8 }, () => Promise.resolve(acquire(id, { accountId }))),
    )
    pass(1050)
    for (const permit of inFlight) permit.release()
    const reasons = (await Promise.all(waiting)).map((one) => ('permit' in one ? 'permit' : one.reason))
    expect(reasons).toContain('slow_endpoints_full')
    for (let i = 0; i < 5; i += 1) expect(acquireNow(`new-${i}`, { accountId: 'c' })).toHaveProperty('permit')
    limiter.close()
  })

  it('lets accounts take turns for the next free permit', async () => {
    const { limiter, acquire, acquireNow, permitOf, once } = setUp({ concurrency: 2 })
    for (const id of ['a', 'b']) once(id, 5)
    const [first] = [permitOf(acquireNow('a')), permitOf(acquireNow('a'))]
    const order: string[] = []
    const queued = ['a', 'a', 'b'].map(async (id) => {
      const permit = permitOf(await acquire(id))
      order.push(id)
      permit.release()
    })
    first?.release()
    await Promise.all(queued)
    expect(order).toEqual(['a', 'b', 'a'])
    expect(limiter.size).toBe(1)
  })

  it('treats an endpoint as slow while an attempt hangs, and as fast again after a quick response', () => {
    const { acquireNow, permitOf, once, pass } = setUp({ concurrency: 3 })
    once('a', 5)
    const hanging = permitOf(acquireNow('a'))
    const other = permitOf(acquireNow('new'))
    pass(1001)
    expect(acquireNow('a')).toMatchObject({ reason: 'slow_endpoints_full' })
    pass(4000)
    hanging.release()
    other.release()
    once('a', 5)
    expect(acquireNow('a')).toHaveProperty('permit')
    expect(acquireNow('a')).toHaveProperty('permit')
  })

  it('defers callers that wait for their endpoint when it closes', async () => {
    const { limiter, acquire, acquireNow, once } = setUp({ perEndpoint: 1 })
    once('a', 10)
    acquireNow('a')
    const waiting = acquire('a')
    limiter.close()
    expect(await waiting).toMatchObject({ reason: 'closing' })
    expect(acquire('b')).toMatchObject({ reason: 'closing' })
  })

  it('allows no more attempts than the process limit and serves the others first come, first served', async () => {
    const { limiter, acquire, acquireNow, permitOf, once } = setUp({ concurrency: 2 })
    for (const id of ['a', 'b', 'c']) once(id, 5)
    const permits = [permitOf(acquireNow('a')), permitOf(acquireNow('a'))]
    const order: string[] = []
    const queued = ['b', 'c'].map(async (id) => {
      const permit = permitOf(await acquire(id))
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
    const { limiter, acquire, acquireNow, once } = setUp({ concurrency: 1, perEndpoint: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    acquireNow('a')
    expect(acquire('b')).toBeInstanceOf(Promise)
    // These callers get a permit within half a second; the next one would not.
    for (let i = 0; i < 100; i += 1) expect(acquire('b')).toBeInstanceOf(Promise)
    expect(acquire('b')).toMatchObject({ reason: 'endpoint_full' })
    expect(limiter.size).toBe(1)
  })

  it('defers callers that are queued for the process limit when it closes', async () => {
    const { limiter, acquire, acquireNow, once } = setUp({ concurrency: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    acquireNow('a')
    const queued = acquire('b')
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
