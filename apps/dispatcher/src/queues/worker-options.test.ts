import { describe, expect, it } from '@jest/globals'
import { sharedOut } from './worker-options.js'

describe('sharedOut', () => {
  it.each([1, 3, 25, 26, 64, 300, 301])(
    'gives %d jobs to workers of 25 at most, none of them idle',
    (jobs) => {
      const shares = sharedOut(jobs)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(jobs)
      expect(Math.max(...shares)).toBeLessThanOrEqual(25)
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1)
    },
  )
})
