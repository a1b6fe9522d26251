import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { Queryable } from '@signet/db'
import type { RecordingChange } from './recording-store.js'
import { RecordingWriter } from './recording-writer.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const aChange = (bytes = 0): RecordingChange => ({
  accountId: randomUUID(),
  audioId: 'rec_1',
  parts: { transcript: bytes === 0 ? null : { text: new Uint8Array(bytes) } },
  event: null,
})

const storedFor = (accounts: readonly string[]) => ({
  rows: accounts.map(() => ({ outcome: 'stored' }) as never),
  rowCount: null,
})

it('commits a steady stream together, and at once what comes alone', async () => {
  const sizes: number[] = []
  const db: Queryable = {
    query: (_, values = []) => {
      const accounts = values[1] as string[]
      sizes.push(accounts.length)
      return Promise.resolve(storedFor(accounts))
    },
  }
  const writer = new RecordingWriter(db)
  const writing: Promise<unknown>[] = []
  for (let ms = 0; ms < 100; ms += 1) {
    writing.push(writer.write(aChange()))
    await jest.advanceTimersByTimeAsync(1)
  }
  await jest.advanceTimersByTimeAsync(1000)
  expect(sizes[0]).toBe(1)
  expect(sizes.length).toBeLessThan(20)
  const steady = sizes.length
  writing.push(writer.write(aChange()))
  await jest.advanceTimersByTimeAsync(0)
  expect(sizes.slice(steady)).toEqual([1])
  expect(await Promise.all(writing)).toHaveLength(101)
})

describe('a small notice', () => {
  it.each([
    ['200 kB', 200_000],
    ['300 kB', 300_000],
  ])('neither waits for notices of %s nor shares a statement with them', async (_name, bytes) => {
    const statements: { accounts: string[]; end: () => void }[] = []
    const db: Queryable = {
      query: (_, values = []) =>
        new Promise((resolve) => {
          const accounts = values[1] as string[]
          statements.push({ accounts, end: () => resolve(storedFor(accounts)) })
        }),
    }
    const writer = new RecordingWriter(db)
    const large = Array.from({ length: 20 }, () => aChange(bytes))
    const writing = large.map((change) => writer.write(change))
    const before = statements.length
    const small = aChange()
    const written = writer.write(small)
    expect(statements.slice(before).map(({ accounts }) => accounts)).toEqual([[small.accountId]])
    statements[before]?.end()
    expect(await written).toEqual({ kind: 'stored' })
    for (let ended = 0; ended < statements.length; ended += 1) {
      statements[ended]?.end()
      await jest.advanceTimersByTimeAsync(10)
    }
    expect(await Promise.all(writing)).toHaveLength(large.length)
  })
})

it('writes several notices of 200 kB in one statement, up to 1 MiB', async () => {
  const sizes: number[] = []
  const db: Queryable = {
    query: (_, values = []) => {
      const accounts = values[1] as string[]
      sizes.push(accounts.length)
      return Promise.resolve(storedFor(accounts))
    },
  }
  const writer = new RecordingWriter(db)
  const writing = Array.from({ length: 11 }, () => writer.write(aChange(200_000)))
  await jest.advanceTimersByTimeAsync(100)
  await Promise.all(writing)
  expect(sizes).toEqual([1, 5, 5])
})
