import { describe, expect, it } from '@jest/globals'
import { errors } from 'undici'
import { BlockedAddressError, NameNotResolvedError } from '@signet/address-guard'
import { countsAgainstEndpoint, failureWordOf } from './error-words.js'
import { decide } from './outcome.js'
import { RetrySchedule } from './retry-schedule.js'

const schedule = new RetrySchedule({ random: () => 0 })
const withCode = (code: string) => Object.assign(new Error('secret.example.com said no'), { code })

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

  it('adds up to a tenth and never takes anything off', () => {
    const last = new RetrySchedule({ random: () => 0.999_999 })
    expect(last.delayAfter(1)).toBe(66_000)
    expect(new RetrySchedule({ random: () => 0.5 }).delayAfter(2)).toBe(315_000)
  })

  it('takes other delays from the operator, positive ones only', () => {
    const quick = new RetrySchedule({ delaysSeconds: [0.1, 1], random: () => 0 })
    expect([1, 2, 3].map((n) => quick.delayAfter(n))).toEqual([100, 1000, null])
    expect(() => new RetrySchedule({ delaysSeconds: [60, 0] })).toThrow(RangeError)
  })
})

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

describe('failureWordOf', () => {
  it.each([
    [new BlockedAddressError('x'), 'blocked_address'],
    [new NameNotResolvedError('x'), 'dns_error'],
    [new DOMException('x', 'TimeoutError'), 'timeout'],
    [new DOMException('x', 'AbortError'), 'timeout'],
    [new errors.ConnectTimeoutError(), 'timeout'],
    [new errors.HeadersTimeoutError(), 'timeout'],
    [new errors.SocketError('other side closed'), 'connection_reset'],
    [new errors.SocketError('bad upgrade'), 'http_101'],
    [new errors.SocketError('bad response'), 'invalid_response'],
    [new errors.HeadersOverflowError(), 'invalid_response'],
    [withCode('HPE_INVALID_CONSTANT'), 'invalid_response'],
    [withCode('ECONNREFUSED'), 'connection_refused'],
    [withCode('ECONNRESET'), 'connection_reset'],
    [withCode('EHOSTUNREACH'), 'connection_error'],
    [withCode('ENETUNREACH'), 'connection_error'],
    [withCode('ETIMEDOUT'), 'timeout'],
    [withCode('CERT_HAS_EXPIRED'), 'tls_error'],
    [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls_error'],
    [withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'tls_error'],
    [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls_error'],
    [withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'tls_error'],
    [withCode('EPROTO'), 'tls_error'],
    [new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]), 'connection_refused'],
    [new Error('wrapped', { cause: withCode('ECONNRESET') }), 'connection_reset'],
    [new TypeError('x is not a function'), 'internal_error'],
    ['thrown text', 'internal_error'],
  ])('%p is %s', (error, word) => {
    expect(failureWordOf(error)).toBe(word)
  })
})

it('failures on our side do not count against the endpoint, everything of the receiver does', () => {
  expect((['internal_error', 'interrupted'] as const).map(countsAgainstEndpoint)).toEqual([false, false])
  for (const word of ['timeout', 'dns_error', 'tls_error', 'blocked_address', 'http_302'] as const) {
    expect(countsAgainstEndpoint(word)).toBe(true)
  }
})
