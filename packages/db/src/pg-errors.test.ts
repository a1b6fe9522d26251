import { expect, it } from '@jest/globals'
import { isUnavailable } from './index.js'

it.each([
  'EADDRNOTAVAIL',
  'ECONNABORTED',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
])('takes a connection that fails with %s for an outage, alone or among the addresses of a host', (code) => {
  const error = Object.assign(new Error(`connect ${code} 192.0.2.1:5432`), { code })
  expect([error, new AggregateError([new Error('another'), error])].map(isUnavailable)).toEqual([true, true])
})

it('does not take a mistake in a statement for an outage', () => {
  expect(isUnavailable(Object.assign(new Error('syntax error'), { code: '42601' }))).toBe(false)
})
