import { expect, it } from '@jest/globals'
import { EventEmitter, once } from 'node:events'
import type { Queryable } from '@signet/db'
import { newEventId } from '@signet/webhook-core'
import { DispatchService, type DispatchItem } from './dispatch-service.js'

/** Sends the statements of a service that finds nothing when told to, and notes the events that each is about. */
function heldService() {
  const statements: { reads: boolean; ids: unknown; answer: () => void }[] = []
  const sent = new EventEmitter()
  const db: Queryable = {
    // The statement that writes has the time before the ids.
    query: (statement, [first, second] = []) =>
      new Promise((resolve) => {
        const ids = Array.isArray(first) ? first : second
        const reads = typeof statement !== 'string' && statement.name === 'find-event-snapshots'
        statements.push({ reads, ids, answer: () => resolve({ rows: [], rowCount: 0 }) })
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
  // What was found nothing to read for is dispatched in rows meanwhile.
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
  // None was answered.
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
