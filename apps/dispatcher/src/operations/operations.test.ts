import { expect, it } from '@jest/globals'
import { Operations, type OperationsDeps } from './operations.js'

it('keeps waiting for jobs in flight while Redis restarts', async () => {
  const counts = [2, new Error('Redis is restarting'), 1, 0]
  const events = {
    getActiveCount: async () => {
      const count = await Promise.resolve(counts.shift())
      if (count instanceof Error) throw count
      return count
    },
  }
  const deliveries = { getActiveCount: () => Promise.resolve(0) }
  const operations = new Operations({ queues: { events, deliveries } } as unknown as OperationsDeps)
  expect(await operations.drained(60_000)).toBe(0)
  expect(counts).toEqual([])
})
