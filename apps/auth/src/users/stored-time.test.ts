import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { StoredTime } from './stored-time.js'

const times = fc.date({
  min: new Date('0001-01-01'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})
const zones = fc.constantFrom('+00:00', '+02:00', '-11:30')

/** Formats a time as PostgreSQL does: no trailing zeros in the fraction, and no fraction when it is zero. */
function stored(time: Date, microseconds: number, zone: string): string {
  const fraction = `${time.toISOString().slice(20, 23)}${String(microseconds).padStart(3, '0')}`.replace(
    /0+$/,
    '',
  )
  return `${time.toISOString().slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}${zone}`
}

it('shows every time like a Date made of the same text', () => {
  fc.assert(
    fc.property(times, fc.nat(999), zones, (time, microseconds, zone) => {
      const text = stored(time, microseconds, zone)
      expect(new StoredTime(text).toISOString()).toBe(new Date(text).toISOString())
    }),
  )
})

it.each(['10000-01-01T00:00:00.123+00:00', '2026-02-01T12:00:00.5+00:00', '2026-02-01T12:00:00Z'])(
  'leaves %s to Date',
  (text) => {
    expect(JSON.stringify(new StoredTime(text))).toBe(JSON.stringify(new Date(text)))
  },
)

it('is a Date otherwise', () => {
  const time = new StoredTime('2026-02-01T12:00:00.123456+00:00')
  expect(time.getTime()).toBe(Date.parse('2026-02-01T12:00:00.123Z'))
  expect(time < new Date()).toBe(true)
})
