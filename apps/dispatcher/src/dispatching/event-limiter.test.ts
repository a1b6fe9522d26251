import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { EventLimiter, type EventPermit } from './event-limiter.js'

beforeEach(() => void jest.useFakeTimers({ now: 0 }))
afterEach(() => void jest.useRealTimers())

/** Makes a limiter that takes 40 events, at most 20 of them of one account. */
function setUp() {
  const limiter = new EventLimiter({ capacity: 40, random: () => 0 })
  const pass = (ms: number) => jest.advanceTimersByTime(ms)
  const acquire = (accountId: string, options?: { bytes?: number; wasDeferred?: boolean }) =>
    limiter.acquire(accountId, options)
  const permitOf = (acquired: ReturnType<typeof acquire>): EventPermit => {
    if (!('release' in acquired)) throw new Error('no permit')
    return acquired
  }
  /** Acquires all the permits that an account may have. */
  const fill = (accountId: string): EventPermit[] => {
    const acquired: EventPermit[] = []
    let next = acquire(accountId)
    for (; 'release' in next; next = acquire(accountId)) acquired.push(next)
    // After this time, the limiter knows that the account's events do not end soon.
    if (next instanceof Promise) pass(500)
    return acquired
  }
  /** Ends events one after the other, each after this time. */
  const end = (acquired: EventPermit[], everyMs: number, count: number) => {
    for (const permit of acquired.splice(0, count)) {
      pass(everyMs)
      permit.release()
    }
  }
  return { pass, acquire, permitOf, fill, end }
}

describe('EventLimiter', () => {
  it('leaves permits for others, however many events of an account do not end', () => {
    const { acquire, fill } = setUp()
    expect(fill('a')).toHaveLength(20)
    expect(fill('b').length).toBeGreaterThanOrEqual(5)
    expect(acquire('c')).toHaveProperty('release')
  })

  it.each([1, 2, 3, 6])(
    'is not full of %i accounts whose events do not end: it goes on taking events',
    (count) => {
      const { acquire, fill } = setUp()
      const acquired = Array.from({ length: count }, (_, account) => fill(`slow ${account}`)).flat()
      expect(acquired.length).toBeLessThan(40)
      expect(acquire('quick')).toHaveProperty('release')
    },
  )

  it('leaves permits for others also to an account that had all of them because its events ended at once', async () => {
    const { pass, acquire, permitOf, fill, end } = setUp()
    const acquired = fill('a')
    end(acquired, 1, 15)
    while (acquired.length < 36) acquired.push(permitOf(acquire('a')))
    end(acquired, 500, 20)
    expect(acquired).toHaveLength(16)
    for (let i = 0; i < 4; i += 1) acquired.push(permitOf(acquire('a')))
    const waiting = acquire('a')
    pass(500)
    expect(await waiting).toHaveProperty('deferMs')
    expect(acquire('a')).toHaveProperty('deferMs')
    expect(acquire('b')).toHaveProperty('release')
  })

  it('defers nothing of a burst before it is known how soon its events end, and nothing if that is soon', async () => {
    const { acquire, end } = setUp()
    const burst = Array.from({ length: 50 }, () => acquire('a'))
    const acquired = burst.filter((one) => 'release' in one)
    expect(acquired).toHaveLength(20)
    // At this rate, 48 end within three seconds.
    end(acquired, 60, 8)
    const others = await Promise.all(burst.filter((one) => one instanceof Promise))
    expect(others.every((one) => 'release' in one)).toBe(true)
    expect(acquire('a')).toHaveProperty('release')
  })

  it('gives permits that become free to accounts that wait for one in turn', async () => {
    const { acquire, fill } = setUp()
    const acquired = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap(fill)
    const order: string[] = []
    const waiting = ['x', 'x', 'x', 'y'].map(async (accountId) => {
      await acquire(accountId)
      order.push(accountId)
    })
    acquired.forEach((permit) => permit.release())
    await Promise.all(waiting)
    expect(order.indexOf('y')).toBeLessThan(2)
  })

  it('defers what has waited for half a second, and at once what comes later, until there was none for a minute', async () => {
    const { pass, acquire, fill } = setUp()
    const [early, late] = [fill('a'), acquire('a')]
    expect(early).toHaveLength(20)
    expect(late).toHaveProperty('deferMs')
    pass(40_000)
    expect(acquire('a')).toHaveProperty('deferMs')
    pass(40_000)
    expect(acquire('a')).toHaveProperty('deferMs')
    pass(60_001)
    const again = acquire('a')
    expect(again).toBeInstanceOf(Promise)
    pass(499)
    early.at(0)?.release()
    expect(await again).toHaveProperty('release')
  })

  it('gives an account that is fast again its time to be measured', () => {
    const { acquire, fill, end } = setUp()
    const acquired = fill('a')
    expect(acquire('a')).toHaveProperty('deferMs')
    end(acquired, 10, 20)
    const later = Array.from({ length: 60 }, () => acquire('a'))
    expect(later.filter((one) => 'deferMs' in one)).toEqual([])
  })

  it('limits no account whose events end within three seconds', () => {
    const { acquire, permitOf, fill, end } = setUp()
    const acquired = fill('a')
    for (let i = 0; i < 100; i += 1) {
      end(acquired, 20, 1)
      acquired.push(permitOf(acquire('a', { wasDeferred: true })))
    }
    while (acquired.length < 36) acquired.push(permitOf(acquire('a')))
  })

  it('defers events as far apart as those of their account end', () => {
    const { acquire, fill, end } = setUp()
    const acquired = fill('a')
    end(acquired, 200, 10)
    fill('a')
    const waits = Array.from({ length: 4 }, () => acquire('a')).map((one) => 'deferMs' in one && one.deferMs)
    expect(waits).toEqual([400, 600, 800, 1000])
  })

  it('defers large events as far apart as they end, however many permits they give back', () => {
    const { pass, acquire, permitOf } = setUp()
    const large = { bytes: 30 * 1024 * 1024 }
    for (let i = 0; i < 4; i += 1) {
      const permit = permitOf(acquire('a', { ...large, wasDeferred: true }))
      pass(1000)
      permit.release()
    }
    permitOf(acquire('a', { ...large, wasDeferred: true }))
    const waits = Array.from({ length: 8 }, () => acquire('a', { ...large, wasDeferred: true }))
    expect(waits.at(-1)).toEqual({ deferMs: 2000 })
  })

  it('takes an event that comes back later for none that has ended', () => {
    const { pass, acquire, permitOf, fill } = setUp()
    fill('a').at(0)?.release()
    for (let i = 0; i < 50; i += 1) permitOf(acquire('a', { wasDeferred: true })).release(false)
    pass(1000)
    fill('a')
    const waits = Array.from({ length: 20 }, () => acquire('a', { wasDeferred: true }))
    // One event ended within a second, so four deferred ones come back per second.
    expect(waits.at(-1)).toEqual({ deferMs: 5000 })
  })

  it('lets those that were deferred come before newcomers', () => {
    const { pass, acquire, fill, end } = setUp()
    const acquired = fill('a')
    end(acquired, 500, 4)
    fill('a')
    for (let i = 0; i < 4; i += 1) expect(acquire('a')).toHaveProperty('deferMs')
    end(acquired, 500, 2)
    expect(acquire('a')).toHaveProperty('deferMs')
    expect(acquire('a', { wasDeferred: true })).toHaveProperty('release')
    pass(30_000)
    expect(acquire('a')).toHaveProperty('release')
  })

  it('lets deferred events come back soon while nothing ends in the whole process', () => {
    const { pass, acquire, fill } = setUp()
    fill('a')
    pass(10_000)
    for (let i = 0; i < 100; i += 1) {
      expect(acquire('a')).toEqual({ deferMs: 2000 })
      expect(acquire('a', { wasDeferred: true })).toEqual({ deferMs: 2000 })
    }
  })

  it('never defers for longer than five minutes, and newcomers for ten seconds', () => {
    const { acquire, fill, end } = setUp()
    end(fill('a'), 900, 2)
    fill('a')
    const longestOf = (wasDeferred: boolean) =>
      Math.max(
        ...Array.from({ length: 2000 }, () => acquire('a', { wasDeferred })).map((one) =>
          'deferMs' in one ? one.deferMs : 0,
        ),
      )
    expect(longestOf(false)).toBe(10_000)
    expect(longestOf(true)).toBe(300_000)
  })

  it('counts large events by their size, also when it becomes known later', async () => {
    const { acquire, permitOf } = setUp()
    permitOf(acquire('a', { bytes: 320 * 1024 }))
    const other = permitOf(acquire('a'))
    expect(other.resize(320 * 1024)).toBeUndefined()
    expect(acquire('a', { bytes: 320 * 1024 })).toHaveProperty('deferMs')
    const waiting = acquire('a')
    other.release()
    expect(await waiting).toHaveProperty('release')
  })

  it('has room for one event of any size of an account, and says when there is room for another', () => {
    const { acquire, permitOf } = setUp()
    const [alone, other] = [permitOf(acquire('a')), permitOf(acquire('b'))]
    expect(alone.resize(30 * 1024 * 1024)).toBeUndefined()
    expect(other.resize(1024 * 1024)).toBeUndefined()
    expect(permitOf(acquire('c')).resize(1024)).toBeUndefined()
  })

  it('gives each permit back once', () => {
    const { permitOf, acquire, fill } = setUp()
    const permit = permitOf(acquire('a'))
    permit.release()
    permit.release()
    expect(fill('a')).toHaveLength(20)
  })
})
