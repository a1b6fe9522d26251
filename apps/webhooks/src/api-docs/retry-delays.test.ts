import { expect, it } from '@jest/globals'
import { retryDelays } from './retry-delays.js'

it.each([
  [[60, 300, 900], '1, 5 and 15 minutes'],
  [[30, 300, 900], '30, 300 and 900 seconds'],
  [[60, 90], '60 and 90 seconds'],
  [[60], '1 minute'],
  [[1], '1 second'],
])('writes delays of %j s as %s', (delays, words) => {
  expect(retryDelays(delays)).toBe(words)
})
