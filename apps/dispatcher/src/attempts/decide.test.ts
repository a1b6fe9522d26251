import { describe, expect, it } from '@jest/globals'
import { RetrySchedule } from '@signet/webhook-core'
import { decide } from './decide.js'

const schedule = new RetrySchedule({ delaysSeconds: [60, 300, 900, 900, 900], random: () => 0 })

describe('decide', () => {
  it.each([200, 201, 204, 299])('calls %d delivered', (status) => {
    expect(decide({ kind: 'answered', status }, 6, schedule)).toEqual({ kind: 'delivered' })
  })

  it.each([101, 199, 300, 302, 304, 400, 404, 410, 429, 500, 503])('tries again after %d', (status) => {
    const error = `http_${status}`
    expect(decide({ kind: 'answered', status }, 1, schedule)).toEqual({
      kind: 'retry',
      error,
      delayMs: 60_000,
    })
  })

  it('is over after the sixth failure, whatever it was', () => {
    expect(decide({ kind: 'failed', error: 'timeout' }, 5, schedule).kind).toBe('retry')
    expect(decide({ kind: 'failed', error: 'timeout' }, 6, schedule)).toEqual({
      kind: 'over',
      error: 'timeout',
    })
    expect(decide({ kind: 'answered', status: 500 }, 6, schedule)).toEqual({
      kind: 'over',
      error: 'http_500',
    })
  })
})
