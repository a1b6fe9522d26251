import { afterEach, expect, it } from '@jest/globals'
import type { RecordingReader } from '@signet/webhook-core/stores'
import { dispatchEvent } from './support/dispatcher.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'

let dispatcher: Stepwise | undefined
afterEach(() => dispatcher?.stop())

it('begins with few events at once, as if each of them were large, and takes more when they are not', async () => {
  const sizes: number[] = []
  const reader: RecordingReader = {
    recording: (refs) => {
      sizes.push(refs.length)
      return Promise.resolve(refs.map(() => null))
    },
    transcript: (refs) => Promise.resolve(refs.map(() => null)),
    summaries: (refs) => Promise.resolve(refs.map(() => [])),
  }
  const worker = await startStepwise({ ports: { reader } })
  dispatcher = worker
  const subscriber = worker.subscriber()
  const ids = await Promise.all(Array.from({ length: 30 }, () => subscriber.summary()))
  await Promise.all(ids.map((id) => dispatchEvent(worker, id)))
  expect(sizes[0]).toBe(4)
  expect(Math.max(...sizes)).toBeGreaterThan(4)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(30)
})
