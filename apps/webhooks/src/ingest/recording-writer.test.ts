import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { Queryable } from '@signet/db'
import type { RecordingChange } from './recording-store.js'
import { RecordingWriter } from './recording-writer.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const aChange = (): RecordingChange => ({
  accountId: randomUUID(),
  audioId: 'rec_1',
  parts: { transcript: null },
  event: null,
})

it('commits a steady stream together, and at once what comes alone', async () => {
  const sizes: number[] = []
  const db: Queryable = {
    query: (_, values = []) => {
      const accounts = values[1] as string[]
      sizes.push(accounts.length)
      return Promise.resolve({ rows: accounts.map(() => ({ outcome: 'stored' }) as never), rowCount: null })
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
