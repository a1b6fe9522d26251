import { describe, expect, it } from '@jest/globals'
import { BodyChunks } from './body-chunks.js'

describe('the chunks of a body', () => {
  const LENGTHS = [
    1, 3, 1023, 1, 1024, 1, 20_000, 700, 700, 1023, 1023, 1023, 1023, 1023, 1023, 1023, 1023, 5,
  ]

  it.each([0, 1, 2047, 2048, 100_000])(
    'are the body, whoever reads the first %d bytes of it meanwhile',
    (asked) => {
      for (let start = 0; start < LENGTHS.length; start += 1) {
        const chunks = new BodyChunks()
        let whole = Buffer.alloc(0)
        for (const [i, length] of LENGTHS.slice(start).entries()) {
          const chunk = Buffer.alloc(length, i)
          chunks.add(chunk)
          whole = Buffer.concat([whole, chunk])
          if (i % 3 === 0) expect(chunks.beginning(asked).equals(whole.subarray(0, asked))).toBe(true)
        }
        expect(chunks.all().equals(whole)).toBe(true)
        chunks.clear()
        expect(chunks.all()).toHaveLength(0)
      }
    },
  )

  it.each([
    ['bytes one by one', [1]],
    ['a byte after each chunk that is just long enough to stay alone', [1024, 1]],
  ])('share buffers: %s', (_, sizes) => {
    const chunks = new BodyChunks()
    let bytes = 0
    for (let i = 0; i < 100_000; i += 1) {
      const size = sizes[i % sizes.length] ?? 0
      chunks.add(Buffer.alloc(size))
      bytes += size
    }
    expect(chunks.pieces).toBeLessThan(20 + bytes / 500)
  })
})
