import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { newEventId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import type { AttemptResult } from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { PendingRows } from '../dispatching/pending-rows.js'
import { ResultRecorder } from './result-recorder.js'
import { createSnapshotLoader } from './snapshot-loader.js'
import { UnwrittenEvent } from './unwritten-event.js'

/** Records the deliveries of each statement, which finds nothing once the test lets it answer. */
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
  return { statements, recorder, result, take: (n: number) => recorder.record(result(n), 'account') }
}

function someRows() {
  const { db, statements } = heldDatabase()
  const rows = new PendingRows({ db, retryWhileUnavailable: (work) => work(), now: () => new Date() })
  return { statements, take: (n: number) => rows.write([snapshot(n)]) }
}

const snapshot = (n: number) =>
  ({ id: id(n), eventId: newEventId(new Date()), endpoint: {} }) as DeliverySnapshot

function aLoader() {
  const { db, statements } = heldDatabase()
  const load = createSnapshotLoader(db, (work) => work())
  return { statements, take: (n: number) => load(id(n)) }
}

describe.each([
  { items: 'results', start: aRecorder, waitsMs: 15, atMost: 400 },
  { items: 'snapshots', start: aLoader, waitsMs: 1, atMost: 200 },
  { items: 'rows of slow deliveries', start: someRows, waitsMs: 2, atMost: 64 },
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

describe('rows of slow deliveries, while a statement records results of their event,', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  async function recording(count: number) {
    const { statements, recorder, result } = aRecorder()
    const snapshots = Array.from({ length: count }, (_, n) => snapshot(n))
    const writes: string[] = []
    const event = new UnwrittenEvent(newEventId(new Date()), snapshots, () =>
      Promise.resolve(writes.push('') > 0),
    )
    const [first] = snapshots
    if (first) void recorder.record(result(0), 'account', { snapshot: first, event })
    await jest.advanceTimersByTimeAsync(20)
    expect(statements).toHaveLength(1)
    const written = event.write()
    await jest.advanceTimersByTimeAsync(400)
    expect(writes).toEqual([])
    return { statement: statements[0], written, writes, event }
  }

  it('are written after it', async () => {
    const { statement, written, writes } = await recording(2)
    statement?.answer()
    await written
    expect(writes).toHaveLength(1)
  })

  it('are not written if it wrote the last of them', async () => {
    const { statement, written, writes, event } = await recording(1)
    event.wrote(new Set([id(0)]), true)
    statement?.answer()
    await written
    expect(writes).toEqual([])
    expect(event).toMatchObject({ isWritten: true, isListed: false })
  })

  it('wait for it no longer than their owner may wait to see them', async () => {
    const { written, writes } = await recording(2)
    await jest.advanceTimersByTimeAsync(100)
    await written
    expect(writes).toHaveLength(1)
  })
})

it('records results of others while the rows of an event cannot be written', async () => {
  const { statements, recorder, result } = aRecorder()
  const locked = snapshot(0)
  const event = new UnwrittenEvent(locked.eventId, [locked], () => new Promise(() => undefined))
  void recorder.record(result(0), 'account', { snapshot: locked, event })
  void event.write()
  const other = recorder.record(result(1), 'other')
  while (statements.length === 0) await nextTurn()
  expect(statements.map(({ ids }) => ids)).toEqual([[id(1)]])
  statements[0]?.answer()
  await other
})
