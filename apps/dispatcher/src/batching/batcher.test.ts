import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { Batcher } from './batcher.js'

const settings = { maxItems: () => 100, lingerMs: 0, parallel: 1 }

describe('Batcher', () => {
  it('does what arrives together in one batch and gives each caller its own result', async () => {
    const batches: number[][] = []
    const batcher = new Batcher<number, number>({
      ...settings,
      run: (items) => {
        batches.push([...items])
        return Promise.resolve(items.map((item) => item * 2))
      },
    })
    const results = await Promise.all([1, 2, 3].map((item) => batcher.submit(item)))
    expect(results).toEqual([2, 4, 6])
    expect(batches).toEqual([[1, 2, 3]])
  })

  it('gathers while a batch is under way and starts the next one as soon as it ends', async () => {
    const batches: number[][] = []
    const gates: (() => void)[] = []
    const batcher = new Batcher<number, number>({
      ...settings,
      run: async (items) => {
        batches.push([...items])
        await new Promise<void>((resolve) => gates.push(resolve))
        return items
      },
    })
    const first = batcher.submit(1)
    await waitFor(() => batches.length === 1)
    const rest = [2, 3, 4].map((item) => batcher.submit(item))
    expect(batches).toEqual([[1]])
    gates[0]?.()
    await first
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toEqual([[1], [2, 3, 4]])
    gates[1]?.()
    await expect(Promise.all(rest)).resolves.toEqual([2, 3, 4])
  })

  it('starts at once when a batch is full, and never exceeds its size', async () => {
    const sizes: number[] = []
    const batcher = new Batcher<number, number>({
      maxItems: () => 2,
      lingerMs: 60_000,
      parallel: 8,
      run: (items) => {
        sizes.push(items.length)
        return Promise.resolve(items)
      },
    })
    await Promise.all([1, 2, 3, 4].map((item) => batcher.submit(item)))
    expect(sizes).toEqual([2, 2])
  })

  it('lets what gathered during a batch wait for others only as long as it has not waited yet', async () => {
    const batches: number[][] = []
    const gates: (() => void)[] = []
    const batcher = new Batcher<number, number>({
      maxItems: () => 3,
      lingerMs: 60_000,
      parallel: 1,
      run: async (items) => {
        batches.push([...items])
        await new Promise<void>((resolve) => gates.push(resolve))
        return items
      },
    })
    const first = [1, 2, 3].map((item) => batcher.submit(item))
    void batcher.submit(4)
    gates[0]?.()
    await Promise.all(first)
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toEqual([[1, 2, 3]])
    void batcher.submit(5)
    void batcher.submit(6)
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
  })

  it('asks for each batch how large it may be', async () => {
    const sizes: number[] = []
    let limit = 3
    const batcher = new Batcher<number, number>({
      ...settings,
      maxItems: () => limit,
      run: (items) => {
        sizes.push(items.length)
        limit = 1
        return Promise.resolve(items)
      },
    })
    await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.submit(item)))
    expect(sizes).toEqual([3, 1, 1])
  })

  it('fails every caller of a failed batch, and none of the next one', async () => {
    let fail = true
    const batcher = new Batcher<number, number>({
      ...settings,
      run: (items) => (fail ? Promise.reject(new Error('no')) : Promise.resolve(items)),
    })
    const outcomes = await Promise.allSettled([batcher.submit(1), batcher.submit(2)])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    fail = false
    await expect(batcher.submit(3)).resolves.toBe(3)
  })
})
