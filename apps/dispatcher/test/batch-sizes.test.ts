import { expect, it } from '@jest/globals'
import type { RecordingReader, RecordingRef } from '@signet/webhook-core/stores'
import { PartsReader } from '../src/preparing/parts-reader.js'

it('begins with few recordings at once, as if each of them were large, and takes more when they are not', async () => {
  const sizes: number[] = []
  const reader: RecordingReader = {
    recording: (refs) => {
      sizes.push(refs.length)
      return Promise.resolve(refs.map(() => null))
    },
    transcript: (refs) => Promise.resolve(refs.map(() => null)),
    summaries: (refs) => Promise.resolve(refs.map(() => [])),
  }
  const parts = new PartsReader({
    // The reader below asks no database.
    db: { until: () => ({ query: () => Promise.reject(new Error('no database')) }) },
    retryWhileUnavailable: (work) => work(),
    onProblem: () => undefined,
    reader,
  })
  const refs = Array.from({ length: 30 }, (_, i): RecordingRef => ({ accountId: 'a', audioId: `rec_${i}` }))
  await Promise.all(refs.map((ref) => parts.read(ref)))
  expect(sizes[0]).toBe(4)
  expect(Math.max(...sizes)).toBeGreaterThan(4)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(30)
})
