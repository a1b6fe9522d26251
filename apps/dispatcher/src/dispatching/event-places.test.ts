import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { EventPlaces, type EventPlace } from './event-places.js'

beforeEach(() => void jest.useFakeTimers({ now: 0 }))
afterEach(() => void jest.useRealTimers())

/** Takes events until it has 40, 20 of them of one account. */
function setUp() {
  const places = new EventPlaces({ capacity: 40, random: () => 0 })
  const pass = (ms: number) => jest.advanceTimersByTime(ms)
  const take = (accountId: string, options?: { bytes?: number; wasDeferred?: boolean }) =>
    places.take(accountId, options)
  const placeOf = (taken: ReturnType<typeof take>): EventPlace => {
    if (!('release' in taken)) throw new Error('no place')
    return taken
  }
  /** Takes what an account may have. */
  const fill = (accountId: string): EventPlace[] => {
    const taken: EventPlace[] = []
    let next = take(accountId)
    for (; 'release' in next; next = take(accountId)) taken.push(next)
    // Now it is known that its events do not end soon.
    if (next instanceof Promise) pass(500)
    return taken
  }
  /** Its events end one after the other, each after this time. */
  const end = (taken: EventPlace[], everyMs: number, count: number) => {
    for (const place of taken.splice(0, count)) {
      pass(everyMs)
      place.release()
    }
  }
  return { pass, take, placeOf, fill, end }
}

describe('EventPlaces', () => {
  it('leaves places for others, however many events of an account do not end', () => {
    const { take, fill } = setUp()
    expect(fill('a')).toHaveLength(20)
    expect(fill('b').length).toBeGreaterThanOrEqual(5)
    expect(take('c')).toHaveProperty('release')
  })

  it.each([1, 2, 3, 6])(
    'is not full of %i accounts whose events do not end: it goes on taking events',
    (count) => {
      const { take, fill } = setUp()
      const taken = Array.from({ length: count }, (_, account) => fill(`slow ${account}`)).flat()
      expect(taken.length).toBeLessThan(40)
      expect(take('quick')).toHaveProperty('release')
    },
  )

  it('leaves places for others also to an account that had all of them because its events ended at once', async () => {
    const { pass, take, placeOf, fill, end } = setUp()
    const taken = fill('a')
    end(taken, 1, 15)
    while (taken.length < 36) taken.push(placeOf(take('a')))
    end(taken, 500, 20)
    expect(taken).toHaveLength(16)
    for (let i = 0; i < 4; i += 1) taken.push(placeOf(take('a')))
    const waiting = take('a')
    pass(500)
    expect(await waiting).toHaveProperty('deferMs')
    expect(take('a')).toHaveProperty('deferMs')
    expect(take('b')).toHaveProperty('release')
  })

  it('defers nothing of a burst before it is known how soon its events end, and nothing if that is soon', async () => {
    const { take, end } = setUp()
    const burst = Array.from({ length: 50 }, () => take('a'))
    const taken = burst.filter((one) => 'release' in one)
    expect(taken).toHaveLength(20)
    // At this rate, 48 end within three seconds.
    end(taken, 60, 8)
    const others = await Promise.all(burst.filter((one) => one instanceof Promise))
    expect(others.every((one) => 'release' in one)).toBe(true)
    expect(take('a')).toHaveProperty('release')
  })

  it('gives places that become free to accounts that wait for one in turn', async () => {
    const { take, fill } = setUp()
    const taken = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap(fill)
    const order: string[] = []
    const waiting = ['x', 'x', 'x', 'y'].map(async (accountId) => {
      await take(accountId)
      order.push(accountId)
    })
    taken.forEach((place) => place.release())
    await Promise.all(waiting)
    expect(order.indexOf('y')).toBeLessThan(2)
  })

  it('defers what has waited for half a second, and at once what comes later, until there was none for a minute', async () => {
    const { pass, take, fill } = setUp()
    const [early, late] = [fill('a'), take('a')]
    expect(early).toHaveLength(20)
    expect(late).toHaveProperty('deferMs')
    pass(40_000)
    expect(take('a')).toHaveProperty('deferMs')
    pass(40_000)
    expect(take('a')).toHaveProperty('deferMs')
    pass(60_001)
    const again = take('a')
    expect(again).toBeInstanceOf(Promise)
    pass(499)
    early.at(0)?.release()
    expect(await again).toHaveProperty('release')
  })

  it('gives an account that is fast again its time to be measured', () => {
    const { take, fill, end } = setUp()
    const taken = fill('a')
    expect(take('a')).toHaveProperty('deferMs')
    end(taken, 10, 20)
    const later = Array.from({ length: 60 }, () => take('a'))
    expect(later.filter((one) => 'deferMs' in one)).toEqual([])
  })

  it('limits no account whose events end within three seconds', () => {
    const { take, placeOf, fill, end } = setUp()
    const taken = fill('a')
    for (let i = 0; i < 100; i += 1) {
      end(taken, 20, 1)
      taken.push(placeOf(take('a', { wasDeferred: true })))
    }
    while (taken.length < 36) taken.push(placeOf(take('a')))
  })

  it('defers events as far apart as those of their account end', () => {
    const { take, fill, end } = setUp()
    const taken = fill('a')
    end(taken, 200, 10)
    fill('a')
    const waits = Array.from({ length: 4 }, () => take('a')).map((one) => 'deferMs' in one && one.deferMs)
    expect(waits).toEqual([400, 600, 800, 1000])
  })

  it('defers large events as far apart as they end, however many places they give back', () => {
    const { pass, take, placeOf } = setUp()
    const large = { bytes: 30 * 1024 * 1024 }
    for (let i = 0; i < 4; i += 1) {
      const place = placeOf(take('a', { ...large, wasDeferred: true }))
      pass(1000)
      place.release()
    }
    placeOf(take('a', { ...large, wasDeferred: true }))
    const waits = Array.from({ length: 8 }, () => take('a', { ...large, wasDeferred: true }))
    expect(waits.at(-1)).toEqual({ deferMs: 2000 })
  })

  it('takes an event that comes back later for none that has ended', () => {
    const { pass, take, placeOf, fill } = setUp()
    fill('a').at(0)?.release()
    for (let i = 0; i < 50; i += 1) placeOf(take('a', { wasDeferred: true })).release(false)
    pass(1000)
    fill('a')
    const waits = Array.from({ length: 20 }, () => take('a', { wasDeferred: true }))
    // One has ended in a second, so that four come back in each.
    expect(waits.at(-1)).toEqual({ deferMs: 5000 })
  })

  it('lets those that were deferred come before newcomers', () => {
    const { pass, take, fill, end } = setUp()
    const taken = fill('a')
    end(taken, 500, 4)
    fill('a')
    for (let i = 0; i < 4; i += 1) expect(take('a')).toHaveProperty('deferMs')
    end(taken, 500, 2)
    expect(take('a')).toHaveProperty('deferMs')
    expect(take('a', { wasDeferred: true })).toHaveProperty('release')
    pass(30_000)
    expect(take('a')).toHaveProperty('release')
  })

  it('lets deferred events come back soon while nothing ends in the whole process', () => {
    const { pass, take, fill } = setUp()
    fill('a')
    pass(10_000)
    for (let i = 0; i < 100; i += 1) {
      expect(take('a')).toEqual({ deferMs: 2000 })
      expect(take('a', { wasDeferred: true })).toEqual({ deferMs: 2000 })
    }
  })

  it('never defers for longer than five minutes, and newcomers for ten seconds', () => {
    const { take, fill, end } = setUp()
    end(fill('a'), 900, 2)
    fill('a')
    const longestOf = (wasDeferred: boolean) =>
      Math.max(
        ...Array.from({ length: 2000 }, () => take('a', { wasDeferred })).map((one) =>
          'deferMs' in one ? one.deferMs : 0,
        ),
      )
    expect(longestOf(false)).toBe(10_000)
    expect(longestOf(true)).toBe(300_000)
  })

  it('counts large events by their size, also when it becomes known later', async () => {
    const { take, placeOf } = setUp()
    placeOf(take('a', { bytes: 320 * 1024 }))
    const other = placeOf(take('a'))
    expect(other.resize(320 * 1024)).toBeUndefined()
    expect(take('a', { bytes: 320 * 1024 })).toHaveProperty('deferMs')
    const waiting = take('a')
    other.release()
    expect(await waiting).toHaveProperty('release')
  })

  it('has room for one event of any size of an account, and says when there is room for another', () => {
    const { take, placeOf } = setUp()
    const [alone, other] = [placeOf(take('a')), placeOf(take('b'))]
    expect(alone.resize(30 * 1024 * 1024)).toBeUndefined()
    expect(other.resize(1024 * 1024)).toBeUndefined()
    expect(placeOf(take('c')).resize(1024)).toBeUndefined()
  })

  it('gives each place back once', () => {
    const { placeOf, take, fill } = setUp()
    const place = placeOf(take('a'))
    place.release()
    place.release()
    expect(fill('a')).toHaveLength(20)
  })
})
