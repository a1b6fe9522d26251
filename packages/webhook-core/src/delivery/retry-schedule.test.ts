import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_RETRY_DELAYS_SECONDS, RetrySchedule } from './retry-schedule.js'

const schedule = new RetrySchedule({ random: () => 0 })

describe('RetrySchedule', () => {
  it('waits 1, 5, 15, 15, 15 minutes after failed attempts 1 to 5 and ends after the sixth', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((n) => schedule.delayAfter(n))).toEqual([
      60_000,
      300_000,
      900_000,
      900_000,
      900_000,
      null,
      null,
    ])
    expect(schedule.maxAttempts).toBe(6)
  })

  it('is what the specification promises', () => {
    const specification = new URL('../../../../apps/webhooks/docs/specification.md', import.meta.url)
    const minutes = DEFAULT_RETRY_DELAYS_SECONDS.map((seconds) => seconds / 60)
    const promise = `${minutes.length} retries, after about ${minutes.slice(0, -1).join(', ')} and ${minutes.at(-1)} minutes`
    expect(readFileSync(specification, 'utf8')).toContain(promise)
  })

  it('adds up to a tenth and never takes anything off', () => {
    const last = new RetrySchedule({ random: () => 0.999_999 })
    expect(last.delayAfter(1)).toBe(66_000)
    expect(new RetrySchedule({ random: () => 0.5 }).delayAfter(2)).toBe(315_000)
  })

  it('takes other delays from the operator, positive ones only', () => {
    const quick = new RetrySchedule({ delaysSeconds: [0.1, 1], random: () => 0 })
    expect([1, 2, 3].map((n) => quick.delayAfter(n))).toEqual([100, 1000, null])
    expect(() => new RetrySchedule({ delaysSeconds: [60, 0] })).toThrow(
      new RangeError('retry delays must be positive'),
    )
  })
})
