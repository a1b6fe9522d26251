import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import type { RecordingReader, RecordingRef } from '@signet/webhook-core/stores'
import { PartsReader } from '../src/preparing/parts-reader.js'

const MEBIBYTE = 1024 * 1024
const absent = () => Promise.reject(new Error('no database'))
const noDatabase = { query: absent, ping: absent }

/** Recordings are empty, except for those named `large`. `sizes` collects the sizes of the batches. */
function setUp() {
  const sizes: number[] = []
  const reader: RecordingReader = {
    recording: (refs) => {
      sizes.push(refs.length)
      return Promise.resolve(refs.map(() => null))
    },
    transcript: (refs) =>
      Promise.resolve(
        refs.map(({ audioId }) => (audioId === 'large' ? { text: 'x'.repeat(MEBIBYTE) } : null)),
      ),
    summaries: (refs) => Promise.resolve(refs.map(() => [])),
  }
  const parts = new PartsReader({
    // The reader never queries a database.
    db: noDatabase,
    events: noDatabase,
    retryWhileUnavailable: (work) => work(),
    onProblem: () => undefined,
    reader,
  })
  return { parts, sizes }
}
const refs = Array.from({ length: 30 }, (_, i): RecordingRef => ({ accountId: 'a', audioId: `rec_${i}` }))

// Reads that come within a moment share a batch, so no time may pass between two of them.
beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

async function readAll(parts: PartsReader, wanted: readonly RecordingRef[], bytes?: number): Promise<void> {
  const read = Promise.all(wanted.map((ref) => parts.read(ref, bytes)))
  await jest.runAllTimersAsync()
  await read
}

it('begins with few recordings at once, as if each of them were large, and takes more when they are not', async () => {
  const { parts, sizes } = setUp()
  await readAll(parts, refs)
  expect(sizes[0]).toBe(4)
  expect(Math.max(...sizes)).toBeGreaterThan(4)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(30)
})

it('takes as many small ones at once after recordings that are known to be large', async () => {
  const { parts, sizes } = setUp()
  await readAll(parts, refs)
  await readAll(parts, [{ accountId: 'a', audioId: 'large' }], MEBIBYTE)
  sizes.length = 0
  await readAll(parts, refs)
  expect(sizes).toEqual([30])
})
