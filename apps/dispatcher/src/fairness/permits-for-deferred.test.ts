import { afterEach, describe, expect, it } from '@jest/globals'
import { EndpointLimiter, type Permit } from './endpoint-limiter.js'

const limiters: EndpointLimiter[] = []
// Callers that still wait have a timer.
afterEach(() => limiters.splice(0).forEach((limiter) => limiter.close()))

function setUp({ concurrency = 100, perEndpoint = 8 } = {}) {
  let nowMs = 0
  const limiter = new EndpointLimiter({ concurrency, perEndpoint, now: () => nowMs, random: () => 0.5 })
  limiters.push(limiter)
  const acquire = (id: string) => limiter.acquire({ endpointId: id, accountId: `account of ${id}` })
  const permit = (id: string): Permit => {
    const acquired = acquire(id)
    if (acquired instanceof Promise || !('permit' in acquired)) throw new Error('no permit')
    return acquired.permit
  }
  const once = (id: string, tookMs: number) => {
    const one = permit(id)
    nowMs += tookMs
    one.release()
  }
  const permitsFor = (id: string, withinMs: number) => limiter.permitsFor(id, { withinMs })
  return { limiter, permitsFor, acquire, permit, once, pass: (ms: number) => (nowMs += ms) }
}

describe('permits for deferred jobs', () => {
  it('are those of a fast endpoint that are free, or become free in the given time', () => {
    const { permitsFor, acquire, permit, once } = setUp()
    once('a', 400)
    expect(permitsFor('a', 10)).toBe(8)
    // One permit every 50 ms.
    expect(permitsFor('a', 100)).toBe(10)
    for (let i = 0; i < 8; i += 1) permit('a')
    expect(permitsFor('a', 10)).toBe(0)
    expect(permitsFor('a', 100)).toBe(2)
    void acquire('a')
    expect(permitsFor('a', 100)).toBe(1)
  })

  it('are one for a slow endpoint, while no attempt to it is in flight', () => {
    const { permitsFor, permit, once } = setUp()
    once('a', 2000)
    expect(permitsFor('a', 1000)).toBe(1)
    permit('a')
    expect(permitsFor('a', 1000)).toBe(0)
  })

  it('are none for an endpoint while its first attempt is in flight', () => {
    const { permitsFor, permit } = setUp()
    permit('a')
    expect(permitsFor('a', 1000)).toBe(0)
  })

  it('are none while an attempt hangs, however fast the endpoint was', () => {
    const { permitsFor, permit, once, pass } = setUp()
    once('a', 5)
    permit('a')
    pass(1001)
    expect(permitsFor('a', 1000)).toBe(0)
  })

  it('are none while the account has its share of the process, or the process stops', () => {
    const { limiter, permitsFor, acquire, permit, once } = setUp({ concurrency: 4 })
    once('a', 5)
    for (let i = 0; i < 3; i += 1) permit('a')
    expect([permitsFor('a', 1000), limiter.free]).toEqual([0, 1])
    void acquire('a')
    expect(limiter.free).toBe(0)
    once('b', 5)
    expect(permitsFor('b', 10)).toBeGreaterThan(0)
    limiter.close()
    expect(permitsFor('b', 10)).toBe(0)
  })
})
