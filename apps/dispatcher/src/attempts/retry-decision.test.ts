import { describe, expect, it } from '@jest/globals'
import { RetrySchedule } from '@signet/webhook-core'
import { decideRetry, decideRetryAfterLoss } from './retry-decision.js'

const schedule = new RetrySchedule({ delaysSeconds: [60, 300, 900, 900, 900], random: () => 0 })

describe('decideRetry', () => {
  it.each([200, 201, 204, 299])('calls %d delivered', (status) => {
    expect(decideRetry({ kind: 'answered', status }, 6, schedule)).toEqual({ kind: 'delivered' })
  })

  it.each([101, 199, 300, 302, 304, 400, 404, 410, 429, 500, 503])('tries again after %d', (status) => {
    const error = `http_${status}`
    expect(decideRetry({ kind: 'answered', status }, 1, schedule)).toEqual({
      kind: 'retry',
      error,
      delayMs: 60_000,
    })
  })

  it('is over after the sixth failure, whatever it was', () => {
    expect(decideRetry({ kind: 'failed', error: 'timeout' }, 5, schedule).kind).toBe('retry')
    expect(decideRetry({ kind: 'failed', error: 'timeout' }, 6, schedule)).toEqual({
      kind: 'over',
      error: 'timeout',
    })
    expect(decideRetry({ kind: 'answered', status: 500 }, 6, schedule)).toEqual({
      kind: 'over',
      error: 'http_500',
    })
  })
})

describe('decideRetryAfterLoss', () => {
  it.each([
    [1, 0],
    [2, 60_000],
    [3, 60_000],
  ])('after loss %d tries again in %d ms', (losses, delayMs) => {
    expect(decideRetryAfterLoss(losses, 1, schedule)).toEqual({
      kind: 'retry',
      error: 'interrupted',
      delayMs,
    })
  })

  it.each([1, 2])('is over after the sixth attempt, at loss %d', (losses) => {
    expect(decideRetryAfterLoss(losses, 5, schedule).kind).toBe('retry')
    expect(decideRetryAfterLoss(losses, 6, schedule)).toEqual({ kind: 'over', error: 'interrupted' })
  })
})
