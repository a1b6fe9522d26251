import { describe, expect, it } from '@jest/globals'
import { createRateLimit } from './index.js'

describe('createRateLimit', () => {
  it('lets exactly the allowed number of simultaneous requests through, per key', async () => {
    const limit = createRateLimit({ name: 'test', points: 3, windowSeconds: 60 })
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => limit.consume('a')))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    await expect(limit.consume('a')).rejects.toMatchObject({
      kind: 'limited',
      retryAfterSeconds: expect.any(Number) as unknown,
    })
    await expect(limit.check('a')).rejects.toMatchObject({ kind: 'limited' })
    await expect(limit.consume('b')).resolves.toBeUndefined()
  })

  it('gives back what an attempt took', async () => {
    const limit = createRateLimit({ name: 'refunded', points: 1, windowSeconds: 60 })
    await limit.consume('a')
    await limit.refund('a')
    await expect(limit.consume('a')).resolves.toBeUndefined()
    await expect(limit.consume('a')).rejects.toMatchObject({ kind: 'limited' })
  })

  it('is off at zero points', async () => {
    const limit = createRateLimit({ name: 'off', points: 0, windowSeconds: 60 })
    await Promise.all(Array.from({ length: 50 }, () => limit.consume('a')))
  })
})
