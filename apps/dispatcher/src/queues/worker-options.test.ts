import { describe, expect, it } from '@jest/globals'
import { splitConcurrency } from './worker-options.js'

describe('splitConcurrency', () => {
  it.each([1, 3, 25, 26, 64, 300, 301])(
    'splits %d jobs into workers of at most 25, none of them idle',
    (jobs) => {
      const shares = splitConcurrency(jobs)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(jobs)
      expect(Math.max(...shares)).toBeLessThanOrEqual(25)
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1)
    },
  )
})
