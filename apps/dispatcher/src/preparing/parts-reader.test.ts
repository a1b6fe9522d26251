import { expect, it } from '@jest/globals'
import type { RecordingRef } from '@signet/webhook-core/stores'
import { PartsReader } from './parts-reader.js'

/** Holds each batch until the test lets it go, and notes the accounts in it. */
function heldReader() {
  const batches: { accounts: unknown; end: () => void }[] = []
  let isHeld = true
  const held = (accounts: unknown) =>
    new Promise<void>((resolve) => (isHeld ? batches.push({ accounts, end: resolve }) : resolve()))
  const parts = new PartsReader({
    db: { query: (_, [accounts] = []) => held(accounts).then(() => ({ rows: [], rowCount: 0 })) },
    events: {
      query: () => Promise.reject(new Error('nothing was given')),
      ping: () => Promise.resolve(),
    },
    retryWhileUnavailable: (work) => work(),
    onProblem: () => undefined,
    reader: {
      recording: async (refs) => {
        await held(refs.map(({ accountId }) => accountId))
        return refs.map(() => null)
      },
      transcript: (refs) => Promise.resolve(refs.map(() => null)),
      summaries: (refs) => Promise.resolve(refs.map(() => [])),
    },
  })
  const endAll = () => {
    isHeld = false
    for (const { end } of batches) end()
  }
  return { parts, batches, endAll }
}

it.each<[string, (parts: PartsReader, ref: RecordingRef) => Promise<unknown>]>([
  ['sizes', (parts, ref) => parts.measure(ref)],
  ['small recordings', (parts, ref) => parts.read(ref)],
  ['large recordings', (parts, ref) => parts.read(ref, 300 * 1024)],
])('reads %s of each account in turn, however many one of them has', async (_, read) => {
  const { parts, batches, endAll } = heldReader()
  const of = (accountId: string, audioId: string) => read(parts, { accountId, audioId })
  const all = Promise.all([
    ...Array.from({ length: 500 }, (_, i) => of('flooding', `rec_${i}`)),
    of('other', 'rec_1'),
  ])
  const under = batches.length
  expect(batches.flatMap(({ accounts }) => accounts)).not.toContain('other')
  batches[0]?.end()
  while (batches.length === under) await new Promise(setImmediate)
  expect(batches[under]?.accounts).toContain('other')
  endAll()
  await all
})
