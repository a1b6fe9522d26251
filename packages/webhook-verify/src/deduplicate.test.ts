import { describe, expect, it } from '@jest/globals'
import { describeEventStore } from '../test/event-store-conformance.js'
import { deduplicate, MemoryEventStore, type EventStore, type WebhookEvent } from './index.js'

let now = 0
const memory = new MemoryEventStore({ now: () => new Date(now) })
describeEventStore('MemoryEventStore', {
  store: () => memory,
  expire: () => {
    now += 60_000
  },
})

const event = { id: 'evt_1' } as WebhookEvent

describe('deduplicate', () => {
  it('hands over what the handler got, and gives back what the function gave', async () => {
    const handle = deduplicate({ store: new MemoryEventStore() }, (one, ...rest: [string, number]) => [
      one.id,
      ...rest,
    ])
    expect(await handle(event, 'request', 7)).toEqual(['evt_1', 'request', 7])
  })

  it('fails when the store cannot remember, so that the sender comes back', async () => {
    const store: EventStore = {
      claim: () => 'claimed',
      complete: () => Promise.reject(new Error('store is down')),
      release: () => {},
    }
    await expect(deduplicate({ store }, () => {})(event)).rejects.toThrow('store is down')
  })

  it.each([
    () => {
      throw new Error('store is down')
    },
    () => Promise.reject(new Error('store is down')),
  ])('says why the function failed, also when the store fails after it', async (release) => {
    const store: EventStore = { claim: () => 'claimed', complete: () => {}, release }
    const handle = deduplicate({ store }, () => Promise.reject(new Error('queue is down')))
    await expect(handle(event)).rejects.toThrow('queue is down')
  })

  it('claims for the lease it was given, in another name each time', async () => {
    const claims: unknown[][] = []
    const store: EventStore = {
      claim: (...given) => {
        claims.push(given)
        return 'claimed'
      },
      complete: () => {},
      release: () => {},
    }
    await deduplicate({ store, leaseSeconds: 5 }, () => {})(event)
    await deduplicate({ store }, () => {})(event)
    expect(claims).toEqual([
      ['evt_1', expect.any(String), 5],
      ['evt_1', expect.any(String), 60],
    ])
    expect(claims[0]?.[1]).not.toBe(claims[1]?.[1])
  })

  it.each([0, -1, Number.NaN])('takes no lease of %p', (leaseSeconds) => {
    expect(() => deduplicate({ store: memory, leaseSeconds }, () => {})).toThrow(RangeError)
  })
})

describe('MemoryEventStore', () => {
  it('forgets the oldest processed event when there are too many, and no claim', () => {
    const store = new MemoryEventStore({ maxEvents: 2 })
    store.claim('evt_claimed', 'a', 60)
    for (const id of ['evt_1', 'evt_2', 'evt_3']) store.complete(id)
    const claims = ['evt_3', 'evt_2', 'evt_claimed', 'evt_1'].map((id) => store.claim(id, 'b', 60))
    expect(claims).toEqual(['done', 'done', 'in_progress', 'claimed'])
  })

  it.each([0, Number.NaN])('takes no limit of %p events', (maxEvents) => {
    expect(() => new MemoryEventStore({ maxEvents })).toThrow(RangeError)
  })
})
