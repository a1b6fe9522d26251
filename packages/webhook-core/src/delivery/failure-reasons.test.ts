import { expect, it } from '@jest/globals'
import { countsAgainstEndpoint } from './failure-reasons.js'

it('failures on our side do not count against the endpoint, everything of the receiver does', () => {
  expect((['internal_error', 'interrupted'] as const).map(countsAgainstEndpoint)).toEqual([false, false])
  for (const reason of ['timeout', 'dns_error', 'tls_error', 'blocked_address', 'http_302'] as const) {
    expect(countsAgainstEndpoint(reason)).toBe(true)
  }
})
