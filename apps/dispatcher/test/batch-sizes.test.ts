import { afterEach, expect, it } from '@jest/globals'
import type { RecordingReader } from '@signet/webhook-core/stores'
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
  dispatcher = await startStepwise({ ports: { reader } })
  const { dispatch } = dispatcher
  const subscriber = dispatcher.subscriber()
  const ids = await Promise.all(Array.from({ length: 30 }, () => subscriber.summary()))
  await Promise.all(ids.map((id) => dispatch.run(id)))
  expect(sizes).toEqual([4, 26])
})
