import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { RecordingRef } from '@signet/webhook-core/stores'
import { PartsReader } from './parts-reader.js'

/** Holds each batch until the test ends it, and records the accounts in it. */
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

describe('a batch', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  const MEBIBYTE = 2 ** 20
  const ref = (accountId: string): RecordingRef => ({ accountId, audioId: 'rec_1' })
  const accountsOf = (batches: readonly { accounts: unknown }[]) => batches.map(({ accounts }) => accounts)

  it('of large recordings is read beside those of small ones, which wait for none of it', async () => {
    const { parts, batches, endAll } = heldReader()
    const large = Array.from({ length: 3 }, (_, i) => parts.read(ref(`large_${i}`), 2 * MEBIBYTE))
    await jest.advanceTimersByTimeAsync(5)
    const small = [parts.read(ref('small_0')), parts.read(ref('small_1'))]
    await jest.advanceTimersByTimeAsync(5)
    expect(accountsOf(batches)).toEqual([['large_0'], ['small_0', 'small_1']])
    endAll()
    await Promise.all([...large, ...small])
  })

  it('has at most four mebibytes of large recordings', async () => {
    const { parts, batches, endAll } = heldReader()
    const all = Array.from({ length: 6 }, (_, i) => parts.read(ref(`large_${i}`), 1.5 * MEBIBYTE))
    await jest.advanceTimersByTimeAsync(5)
    batches[0]?.end()
    await jest.advanceTimersByTimeAsync(5)
    expect(accountsOf(batches)).toEqual([['large_0'], ['large_1', 'large_2']])
    endAll()
    await Promise.all(all)
  })

  it.each<[string, (parts: PartsReader, one: RecordingRef) => Promise<unknown>]>([
    ['sizes', (parts, one) => parts.measure(one)],
    ['small recordings', (parts, one) => parts.read(one)],
  ])('waits a moment, so that %s which are wanted one after the other share it', async (_, read) => {
    const { parts, batches, endAll } = heldReader()
    const all: Promise<unknown>[] = []
    for (const accountId of ['a', 'b', 'c']) {
      expect(batches).toEqual([])
      all.push(read(parts, ref(accountId)))
      await jest.advanceTimersByTimeAsync(0.5)
    }
    await jest.advanceTimersByTimeAsync(5)
    expect(accountsOf(batches)).toEqual([['a', 'b', 'c']])
    endAll()
    await Promise.all(all)
  })

  it('of small recordings is read while another one waits for its slowest part', async () => {
    const { parts, batches, endAll } = heldReader()
    const first = parts.read(ref('first'))
    await jest.advanceTimersByTimeAsync(5)
    const second = parts.read(ref('second'))
    await jest.advanceTimersByTimeAsync(5)
    expect(accountsOf(batches)).toEqual([['first'], ['second']])
    endAll()
    await Promise.all([first, second])
  })
})
