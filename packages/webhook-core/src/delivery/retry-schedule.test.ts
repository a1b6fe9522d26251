import { describe, expect, it } from '@jest/globals'
import { DEFAULT_RETRY_DELAYS_SECONDS, RetrySchedule } from './retry-schedule.js'

describe('RetrySchedule', () => {
  it('waits after each failed attempt for as long as its delay says, and ends after the last', () => {
    const schedule = new RetrySchedule({ delaysSeconds: [60, 300, 900], random: () => 0 })
    expect([1, 2, 3, 4, 5].map((n) => schedule.delayAfter(n))).toEqual([60_000, 300_000, 900_000, null, null])
    expect(schedule.maxAttempts).toBe(4)
  })

  it('has the delays of the default', () => {
    const schedule = new RetrySchedule({ random: () => 0 })
    const delays = DEFAULT_RETRY_DELAYS_SECONDS.map((_, index) => schedule.delayAfter(index + 1))
    expect(delays).toEqual(DEFAULT_RETRY_DELAYS_SECONDS.map((seconds) => seconds * 1000))
  })

  it('adds up to a tenth and never takes anything off', () => {
    const jittered = (random: number) => new RetrySchedule({ delaysSeconds: [60, 300], random: () => random })
    expect(jittered(0.999_999).delayAfter(1)).toBe(66_000)
    expect(jittered(0.5).delayAfter(2)).toBe(315_000)
  })

  it('takes other delays from the operator, positive ones only', () => {
    const quick = new RetrySchedule({ delaysSeconds: [0.1, 1], random: () => 0 })
    expect([1, 2, 3].map((n) => quick.delayAfter(n))).toEqual([100, 1000, null])
    expect(() => new RetrySchedule({ delaysSeconds: [60, 0] })).toThrow(
      new RangeError('retry delays must be positive'),
    )
  })
})
