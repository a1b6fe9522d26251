import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { newEventId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import type { AttemptResult } from '../deliveries/attempt-store.js'
import { ResultRecorder } from './result-recorder.js'
import { createSnapshotLoader } from './snapshot-loader.js'

/** Notes the deliveries of each statement, and finds nothing until the test lets it answer. */
function heldDatabase() {
  const statements: { ids: unknown[]; answer: () => void }[] = []
  const db: Queryable = {
    query: (_, [ids] = []) =>
      new Promise((resolve) => {
        statements.push({ ids: ids as unknown[], answer: () => resolve({ rows: [], rowCount: 0 }) })
      }),
  }
  return { db, statements }
}

const id = (n: number) => `${n + 1}` as DeliveryId

function aRecorder() {
  const { db, statements } = heldDatabase()
  const recorder = new ResultRecorder({
    db,
    dbApart: db,
    retryWhileUnavailable: (work) => work(),
    retryTimeouts: (work) => work(),
  })
  const result = (n: number): AttemptResult => ({
    deliveryId: id(n),
    endpointId: '1' as EndpointId,
    eventId: newEventId(new Date()),
    number: 1,
    key: 1,
    outcome: { kind: 'delivered' },
    urlVersion: 1,
    startedAt: new Date(),
    finishedAt: new Date(),
  })
  return { statements, take: (n: number) => recorder.record(result(n), 'account') }
}

function aLoader() {
  const { db, statements } = heldDatabase()
  const load = createSnapshotLoader(db, (work) => work())
  return { statements, take: (n: number) => load(id(n)) }
}

describe.each([
  { items: 'results', start: aRecorder, waitsMs: 15, atMost: 400 },
  { items: 'snapshots', start: aLoader, waitsMs: 1, atMost: 200 },
])('a statement with $items', ({ start, waitsMs, atMost }) => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => id(from + i))

  it('waits a moment, so that those which come one after the other share it', async () => {
    const { statements, take } = start()
    for (let n = 0; n < 3; n += 1) {
      expect(statements).toEqual([])
      void take(n)
      await jest.advanceTimersByTimeAsync(waitsMs / 4)
    }
    await jest.advanceTimersByTimeAsync(waitsMs)
    expect(statements.map(({ ids }) => ids)).toEqual([numbers(0, 3)])
  })

  it('has a limit, and the rest goes into the next one when it was answered', async () => {
    const { statements, take } = start()
    for (let n = 0; n < atMost + 10; n += 1) void take(n)
    await jest.advanceTimersByTimeAsync(2 * waitsMs)
    expect(statements.map(({ ids }) => ids)).toEqual([numbers(0, atMost)])
    statements[0]?.answer()
    await jest.advanceTimersByTimeAsync(2 * waitsMs)
    expect(statements.slice(1).map(({ ids }) => ids)).toEqual([numbers(atMost, atMost + 10)])
  })
})
