import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { leasePort } from '../ports.js'
import { readRecording, type RecordingName } from './deliveries.js'
import { walkThrough, type World } from './index.js'

beforeEach(() => {
  jest.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  jest.restoreAllMocks()
})

const world: World = {
  auth: '',
  webhooks: '',
  internal: '',
  internalToken: '',
  inbox: '',
}

interface Segment {
  speaker: string
  start: number
  end: number
  text: string
}

describe('the recordings that are shipped', () => {
  it.each(['product-review', 'listening-day'] as const)(
    '%s is a whole meeting of at least 30 minutes',
    (name) => {
      const { recording, transcript } = readRecording(name)
      const segments = transcript.segments as Segment[]
      expect(recording.duration_ms).toBeGreaterThan(30 * 60 * 1000)
      expect(new Set(segments.map(({ speaker }) => speaker)).size).toBeGreaterThanOrEqual(4)
      expect(segments.map(({ text }) => text).join(' ')).toBe(transcript.text.replaceAll('\n', ' '))
      for (const [index, { start, end }] of segments.entries()) {
        expect(end).toBeGreaterThan(start)
        expect(start).toBeGreaterThanOrEqual(segments[index - 1]?.end ?? 0)
      }
      expect((segments.at(-1)?.end ?? 0) * 1000).toBeLessThanOrEqual(recording.duration_ms)
    },
  )

  it('one fits in 1 MiB and one does not', () => {
    const bytes = (name: RecordingName) => Buffer.byteLength(JSON.stringify(readRecording(name)))
    expect(bytes('product-review')).toBeLessThan(1_048_576)
    expect(bytes('listening-day')).toBeGreaterThan(1_048_576)
  })
})

it('the walk-through names the step that failed', async () => {
  // Nobody listens on a port that is only leased.
  const nowhere = `http://127.0.0.1:${await leasePort()}`
  expect(await walkThrough({ ...world, auth: nowhere })).toBeUndefined()
  expect(console.log).toHaveBeenCalledWith(
    `\nStep a (A person signs up) failed: no answer to POST ${nowhere}: ECONNREFUSED`,
  )
})
