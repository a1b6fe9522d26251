import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { RoomInHand, type Place } from './room-in-hand.js'

/** Room for so many deliveries, however fast they are sent. */
const roomFor = (deliveries: number) => new RoomInHand({ least: deliveries, most: deliveries })

/** Enters so many times and gives those that got in, which grows. */
function entered(room: RoomInHand, times: number): Place[] {
  const places: Place[] = []
  for (let i = 0; i < times; i += 1) void room.enter().then((place) => places.push(place))
  return places
}

describe('RoomInHand', () => {
  it('lets in as many events as it has room for deliveries, and the next when one leaves', async () => {
    const places = entered(roomFor(3), 5)
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
    const room = roomFor(4)
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
    const room = roomFor(2)
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
    const room = roomFor(100)
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
    const room = roomFor(1)
    const place = await room.enter()
    place.holds(50)
    const next = entered(room, 1)
    await turn()
    expect(next).toHaveLength(0)
    place.leave()
    await turn()
    expect(next).toHaveLength(1)
  })

  it('has room for what is sent within 80 ms, and never for less or more than its limits', async () => {
    let nowMs = 0
    const room = new RoomInHand({ least: 10, most: 50, now: () => nowMs })
    /** How many get in after some time at this pace, in deliveries per second. */
    const roomAt = async (pace: number) => {
      for (let sent = 0; sent < pace / 5; sent += 1) {
        nowMs += 1000 / pace
        const place = await room.enter()
        place.holds(1)
        place.sent()
        place.leave()
      }
      const places = entered(room, 100)
      await turn()
      const count = places.length
      // Those in line come in as others leave, and leave as well.
      for (let left = 0; left < places.length; left += 1) {
        places[left]?.leave()
        await turn()
      }
      return count
    }
    expect(await roomAt(375)).toBe(30)
    expect(await roomAt(50)).toBe(10)
    expect(await roomAt(10_000)).toBe(50)
  })
})
