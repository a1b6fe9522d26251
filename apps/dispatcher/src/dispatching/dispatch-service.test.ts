import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '@signet/db'
import { newEventId } from '@signet/webhook-core'
import { DispatchService, type DispatchItem } from './dispatch-service.js'

/** Makes a service whose statements find nothing once the test answers them, and lists the events that each statement is about. */
function heldService() {
  const statements: { reads: boolean; ids: unknown; answer: (rows?: object[]) => void }[] = []
  const sent = new EventEmitter()
  const db: Queryable = {
    // The writing statement takes the time before the ids.
    query: (statement, [first, second] = []) =>
      new Promise((resolve) => {
        const ids = Array.isArray(first) ? first : second
        const reads = typeof statement !== 'string' && statement.name === 'find-event-snapshots'
        statements.push({
          reads,
          ids,
          answer: (rows = []) => resolve({ rows: rows as never[], rowCount: rows.length }),
        })
        sent.emit('statement')
      }),
  }
  const service = new DispatchService({
    db,
    bodies: {} as never,
    observer: {} as never,
    retryWhileUnavailable: (work) => work(),
    now: () => new Date(),
  })
  const untilSent = async (count: number) => {
    while (statements.length < count) await once(sent, 'statement')
  }
  return { service, statements, untilSent }
}

it.each<[string, Partial<DispatchItem>]>([
  ['small events', {}],
  ['large events', { bytes: 300 * 1024 }],
  ['small bodies that were just built', { prepared: { body: Buffer.alloc(100), unconverted: null } }],
  ['large bodies that were just built', { prepared: { body: Buffer.alloc(300 * 1024), unconverted: null } }],
])('takes %s of each account in turn, however many one of them has', async (_, more) => {
  const { service, statements, untilSent } = heldService()
  const of = (accountId: string): DispatchItem => ({ id: newEventId(new Date()), accountId, ...more })
  for (let i = 0; i < 500; i += 1) void service.run(of('flooding'))
  const other = of('other')
  void service.run(other)
  await untilSent(1)
  expect(statements[0]?.ids).not.toContain(other.id)
  statements[0]?.answer()
  // Meanwhile, the service dispatches in rows the events for which it read nothing.
  await untilSent(more.prepared ? 2 : 3)
  const next = statements.slice(1).find(({ reads }) => reads === statements[0]?.reads)
  expect(next?.ids).toContain(other.id)
})

const anEvent = (bodyBytes?: number): DispatchItem => ({
  id: newEventId(new Date()),
  accountId: 'a',
  ...(bodyBytes !== undefined && { prepared: { body: Buffer.alloc(bodyBytes), unconverted: null } }),
})

it.each([
  ['an event with its body', anEvent(), anEvent(100)],
  ['an event with a small body that was just built', anEvent(100), anEvent(100 * 1024)],
])('lets %s wait for no statement that writes the bodies of others', async (_, event, other) => {
  const { service, statements, untilSent } = heldService()
  void service.run(other)
  void service.run(event)
  // Both statements are sent, although the test has answered none.
  await untilSent(2)
  expect(statements.map(({ ids }) => ids)).toEqual(expect.arrayContaining([[other.id], [event.id]]))
})

it('dispatches in rows what it found nothing to read for', async () => {
  const { service, statements, untilSent } = heldService()
  const event = anEvent()
  const dispatched = service.run(event)
  for (const position of [0, 1]) {
    await untilSent(position + 1)
    expect(statements[position]?.ids).toEqual([event.id])
    statements[position]?.answer()
  }
  await expect(dispatched).resolves.toMatchObject({ created: [], unfinished: [] })
})

const PLAIN = 'an ordinary job'
const LOST = 'the job of a lost run'
const PREPARED = 'the job with the body'
const MORE: Record<string, Partial<DispatchItem>> = {
  [PLAIN]: {},
  [LOST]: { wasLost: true },
  [PREPARED]: { prepared: { body: Buffer.alloc(100), unconverted: null } },
}

it.each<[best: string, jobs: string[]]>([
  [PREPARED, [PREPARED, LOST, PLAIN]],
  [PREPARED, [PLAIN, LOST, PREPARED]],
  [PREPARED, [LOST, PREPARED]],
  [PREPARED, [PREPARED, LOST]],
  [LOST, [LOST, PLAIN]],
  [LOST, [PLAIN, LOST]],
])('lets %s make the attempts of an event if one statement writes its rows for %j', async (best, jobs) => {
  const { service, statements, untilSent } = heldService()
  const event = anEvent()
  // Holds the next statement back until each job waits for it.
  void service.run({ ...anEvent(), wasLost: true })
  await untilSent(1)
  const dispatched: Promise<unknown>[] = []
  for (const job of jobs) {
    dispatched.push(service.run({ ...event, ...MORE[job] }))
    if (job !== PLAIN) continue
    await untilSent(2)
    statements[1]?.answer()
    await setImmediate()
  }
  statements[0]?.answer()
  const count = jobs.includes(PLAIN) ? 3 : 2
  await untilSent(count)
  statements.at(-1)?.answer([{ kind: 'created', event_id: event.id }])
  const attempts = jobs.map((job) => (job === best ? [expect.objectContaining({ eventId: event.id })] : []))
  expect(await Promise.all(dispatched)).toMatchObject(attempts.map((created) => ({ created })))
})

describe('a statement', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  const idsOf = (statements: readonly { ids: unknown }[]) => statements.map(({ ids }) => ids)
  const many = (count: number, more: Partial<DispatchItem> = {}): DispatchItem[] =>
    Array.from({ length: count }, () => ({ ...anEvent(), ...more }))

  it.each<[string, Partial<DispatchItem>]>([
    ['small events', {}],
    ['small bodies that were just built', { prepared: { body: Buffer.alloc(100), unconverted: null } }],
  ])('waits a moment, so that %s which come one after the other share it', async (_, more) => {
    const { service, statements } = heldService()
    const events = many(3, more)
    for (const event of events) {
      expect(statements).toEqual([])
      void service.run(event)
      await jest.advanceTimersByTimeAsync(0.5)
    }
    await jest.advanceTimersByTimeAsync(5)
    expect(idsOf(statements)).toEqual([events.map(({ id }) => id)])
  })

  it('begins with few events, as if each of them were large, until the sizes are known', async () => {
    const { service, statements } = heldService()
    for (const event of many(30)) void service.run(event)
    await jest.advanceTimersByTimeAsync(5)
    expect(statements).toHaveLength(1)
    expect(statements[0]?.ids).toHaveLength(4)
  })

  it('has at most four mebibytes of events that are known to be large', async () => {
    const { service, statements } = heldService()
    const events = many(6, { bytes: 1_500_000 })
    for (const event of events) void service.run(event)
    statements[0]?.answer()
    await jest.advanceTimersByTimeAsync(5)
    const [first, second, third] = events.map(({ id }) => id)
    expect(idsOf(statements.filter(({ reads }) => reads))).toEqual([[first], [second, third]])
  })
})
