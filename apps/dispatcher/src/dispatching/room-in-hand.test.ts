import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { RoomInHand, type Place } from './room-in-hand.js'

/** Enters so many times and gives those that got in, which grows. */
function entered(room: RoomInHand, times: number): Place[] {
  const places: Place[] = []
  for (let i = 0; i < times; i += 1) void room.enter().then((place) => places.push(place))
  return places
}

describe('RoomInHand', () => {
  it('lets in as many events as it has room for deliveries, and the next when one leaves', async () => {
    const places = entered(new RoomInHand(3), 5)
    await turn()
    expect(places).toHaveLength(3)
    places[0]?.leave()
    await turn()
    expect(places).toHaveLength(4)
    places[0]?.leave()
    await turn()
    expect(places).toHaveLength(4)
  })

  it('counts what came of an event, and gives back what was too much', async () => {
    const room = new RoomInHand(4)
    const big = await room.enter()
    big.holds(4)
    const places = entered(room, 1)
    await turn()
    expect(places).toHaveLength(0)
    big.holds(0)
    await turn()
    expect(places).toHaveLength(1)
  })

  it('has room again for each delivery that was sent, and no more than it held', async () => {
    const room = new RoomInHand(2)
    const place = await room.enter()
    place.holds(2)
    const next = entered(room, 3)
    place.sent()
    await turn()
    expect(next).toHaveLength(1)
    for (let i = 0; i < 5; i += 1) place.sent()
    place.leave()
    await turn()
    expect(next).toHaveLength(2)
  })

  it('expects of events what came of those before', async () => {
    const room = new RoomInHand(100)
    for (let i = 0; i < 100; i += 1) {
      const place = await room.enter()
      place.holds(10)
      place.leave()
    }
    const places = entered(room, 100)
    await turn()
    expect(places.length).toBeGreaterThanOrEqual(10)
    expect(places.length).toBeLessThanOrEqual(11)
  })

  it('lets an event in that is larger than all of it', async () => {
    const room = new RoomInHand(1)
    const place = await room.enter()
    place.holds(50)
    const next = entered(room, 1)
    await turn()
    expect(next).toHaveLength(0)
    place.leave()
    await turn()
    expect(next).toHaveLength(1)
  })
})
