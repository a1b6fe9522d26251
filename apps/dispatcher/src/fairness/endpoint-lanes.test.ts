import { describe, expect, it } from '@jest/globals'
import { EndpointLanes, type Entry, type Slot } from './endpoint-lanes.js'

function setUp(options: { slots?: number; perEndpoint?: number } = {}) {
  let nowMs = 0
  const lanes = new EndpointLanes({
    slots: options.slots ?? 100,
    perEndpoint: options.perEndpoint ?? 8,
    now: () => nowMs,
    random: () => 0.5,
  })
  const enterNow = (id: string): Entry => {
    const entry = lanes.enter(id)
    if (entry instanceof Promise) throw new Error('it waits')
    return entry
  }
  const slotOf = (entry: Entry): Slot => {
    if (!('slot' in entry)) throw new Error(`no slot: ${entry.reason}`)
    return entry.slot
  }
  const once = (id: string, tookMs: number) => {
    const slot = slotOf(enterNow(id))
    nowMs += tookMs
    slot.leave()
  }
  return { lanes, enterNow, slotOf, once, pass: (ms: number) => (nowMs += ms) }
}

describe('EndpointLanes', () => {
  it('lets no more attempts to one endpoint in than its limit, and the next one when a place is free', async () => {
    const { lanes, enterNow, slotOf, once } = setUp()
    once('a', 10)
    const slots = Array.from({ length: 8 }, () => slotOf(enterNow('a')))
    const ninth = lanes.enter('a')
    expect(ninth).toBeInstanceOf(Promise)
    expect(lanes.size).toBe(8)
    slots[0]?.leave()
    expect(await ninth).toHaveProperty('slot')
    expect(lanes.size).toBe(8)
  })

  it('has those wait whose turn comes within half a second, and no others', () => {
    const { lanes, enterNow, once } = setUp({ perEndpoint: 1 })
    once('a', 120)
    enterNow('a')
    for (let i = 0; i < 4; i += 1) expect(lanes.enter('a')).toBeInstanceOf(Promise)
    expect(lanes.enter('a')).toMatchObject({ reason: 'endpoint_full' })
  })

  it('has everybody wait where turns come quickly', () => {
    const { lanes, enterNow, once } = setUp({ perEndpoint: 8 })
    once('a', 20)
    for (let i = 0; i < 8; i += 1) enterNow('a')
    for (let i = 0; i < 500; i += 1) expect(lanes.enter('a')).toBeInstanceOf(Promise)
  })

  it('gives back a place once, however often it is left', () => {
    const { lanes, enterNow, slotOf } = setUp()
    const slot = slotOf(enterNow('a'))
    slotOf(enterNow('a'))
    slot.leave()
    slot.leave()
    expect(lanes.size).toBe(1)
  })

  it('steps back at once from an endpoint that hangs, each time to a later turn', () => {
    const { enterNow, pass } = setUp()
    for (let i = 0; i < 8; i += 1) enterNow('hanging')
    pass(1001)
    const backs = [1, 2, 3].map(() => enterNow('hanging'))
    const waits = backs.map((entry) => ('stepBackMs' in entry ? entry.stepBackMs : 0))
    expect(waits[0]).toBeGreaterThanOrEqual(50)
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0)
    expect(waits[2]).toBeGreaterThan(waits[1] ?? 0)
  })

  it('lets whoever has waited in line come again soon, not at the end of the line', () => {
    const { lanes, enterNow, once } = setUp()
    once('slow', 2000)
    for (let i = 0; i < 108; i += 1) enterNow('slow')
    const newcomer = enterNow('slow')
    const again = lanes.enter('slow', true)
    expect(newcomer).toMatchObject({ stepBackMs: expect.any(Number) })
    expect(again).toMatchObject({ stepBackMs: 8000 })
    expect('stepBackMs' in newcomer ? newcomer.stepBackMs : 0).toBeGreaterThan(20_000)
  })

  it('never asks to come back later than the longest step back, however long the line is', () => {
    const { enterNow, once } = setUp()
    once('slow', 5000)
    for (let i = 0; i < 8; i += 1) enterNow('slow')
    let longest = 0
    for (let i = 0; i < 5000; i += 1) {
      const entry = enterNow('slow')
      longest = Math.max(longest, 'stepBackMs' in entry ? entry.stepBackMs : 0)
    }
    expect(longest).toBeLessThanOrEqual(30_000 * 1.1)
  })

  it('keeps three quarters of the slots free of slow endpoints, however many of them there are', () => {
    const { lanes, enterNow, once } = setUp()
    for (let i = 0; i < 50; i += 1) once(`slow-${i}`, 5000)
    once('prompt', 5)
    for (let round = 0; round < 8; round += 1) for (let i = 0; i < 50; i += 1) enterNow(`slow-${i}`)
    expect(lanes.size).toBe(25)
    expect(enterNow('prompt')).toHaveProperty('slot')
  })

  it('keeps half of the slots free of endpoints it knows nothing about', () => {
    const { lanes, enterNow } = setUp()
    for (let i = 0; i < 200; i += 1) enterNow(`new-${i}`)
    expect(lanes.size).toBe(50)
    expect(enterNow('another')).toEqual({ stepBackMs: expect.any(Number), reason: 'slow_endpoints_full' })
  })

  it('counts an endpoint as slow while an attempt hangs, and as prompt again after a quick answer', () => {
    const { enterNow, slotOf, once, pass } = setUp({ slots: 4 })
    once('a', 5)
    const hanging = slotOf(enterNow('a'))
    pass(1001)
    expect(enterNow('a')).toMatchObject({ reason: 'slow_endpoints_full' })
    pass(4000)
    hanging.leave()
    once('a', 5)
    expect(enterNow('a')).toHaveProperty('slot')
    expect(enterNow('a')).toHaveProperty('slot')
  })

  it('sends whoever waits back into the queue when it closes', async () => {
    const { lanes, enterNow, once } = setUp({ perEndpoint: 1 })
    once('a', 10)
    enterNow('a')
    const waiting = lanes.enter('a')
    lanes.close()
    expect(await waiting).toMatchObject({ reason: 'closing' })
    expect(lanes.enter('b')).toMatchObject({ reason: 'closing' })
  })

  it('lets no more attempts in than there are slots; the others stand in one line, first come, first served', async () => {
    const { lanes, enterNow, slotOf, once } = setUp({ slots: 2 })
    for (const id of ['a', 'b', 'c']) once(id, 5)
    const slots = [slotOf(enterNow('a')), slotOf(enterNow('a'))]
    const order: string[] = []
    const inLine = ['b', 'c'].map(async (id) => {
      const slot = slotOf(await lanes.enter(id))
      order.push(id)
      return slot
    })
    expect(lanes.size).toBe(2)
    slots[0]?.leave()
    const second = await inLine[0]
    expect([order, lanes.size]).toEqual([['b'], 2])
    second?.leave()
    await inLine[1]
    expect([order, lanes.size]).toEqual([['b', 'c'], 2])
  })

  it('counts a place at an endpoint as taken while its owner stands in line', () => {
    const { lanes, enterNow, once } = setUp({ slots: 1, perEndpoint: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    enterNow('a')
    expect(lanes.enter('b')).toBeInstanceOf(Promise)
    // The turns of these come within half a second; that of the next one does not.
    for (let i = 0; i < 100; i += 1) expect(lanes.enter('b')).toBeInstanceOf(Promise)
    expect(lanes.enter('b')).toMatchObject({ reason: 'endpoint_full' })
    expect(lanes.size).toBe(1)
  })

  it('sends whoever stands in line back into the queue when it closes', async () => {
    const { lanes, enterNow, once } = setUp({ slots: 1 })
    for (const id of ['a', 'b']) once(id, 5)
    enterNow('a')
    const inLine = lanes.enter('b')
    lanes.close()
    expect(await inLine).toMatchObject({ reason: 'closing' })
    expect(lanes.size).toBe(1)
  })

  it('works with a single slot', () => {
    const { enterNow, once } = setUp({ slots: 1, perEndpoint: 1 })
    once('slow', 5000)
    expect(enterNow('slow')).toHaveProperty('slot')
  })
})
