import { describe, expect, it } from '@jest/globals'
import { firstEventIdAt, newEventId, parseDeliveryId, parseEndpointId, parseEventId } from './ids.js'

describe('ids', () => {
  it.each(['1', '42', '9223372036854775807'])('takes %s as a row id', (text) => {
    expect(parseEndpointId(text)).toBe(text)
    expect(parseDeliveryId(text)).toBe(text)
  })

  it.each([
    '0',
    '-1',
    '01',
    '1e3',
    '9223372036854775808',
    '99999999999999999999',
    'abc',
    '%00',
    '',
    ' 1',
    '1\n',
    '１',
  ])('takes %j as no row id', (text) => {
    expect(parseEndpointId(text)).toBeNull()
    expect(parseDeliveryId(text)).toBeNull()
  })

  it('takes what it makes as an event id, and nothing else', () => {
    const id = newEventId(new Date())
    expect(parseEventId(id)).toBe(id)
    for (const text of [
      '',
      'evt_',
      id.slice(0, -1),
      `${id}0`,
      ` ${id}`,
      `${id}\n`,
      id.toUpperCase(),
      id.slice(4),
    ])
      expect(parseEventId(text)).toBeNull()
  })

  it('event ids have the documented form, differ, and sort by time', () => {
    const times = [0, 1, 1_767_225_600_000, 1_767_225_600_001, 4_102_444_800_000].map((ms) => new Date(ms))
    const ids = times.map(newEventId)
    for (const id of ids) expect(id).toMatch(/^evt_[0-9a-f]{32}$/)
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(Array.from({ length: 1000 }, () => newEventId(new Date(0)))).size).toBe(1000)
  })

  it('splits events by time with the first id of a moment', () => {
    const [before, at, after] = [999, 1000, 1001].map((ms) => newEventId(new Date(ms)))
    const border = firstEventIdAt(new Date(1000))
    expect([before, at, after].map((id = 'evt_') => id < border)).toEqual([true, false, false])
  })
})
