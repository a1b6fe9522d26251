import { expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { newEventId } from '@signet/webhook-core'
import { DispatchService, type DispatchItem } from './dispatch-service.js'

/** Sends the statements of a service that finds nothing when told to, and notes the events that each is about. */
function heldService() {
  const statements: { ids: unknown; answer: () => void }[] = []
  const db: Queryable = {
    query: (_, [ids] = []) =>
      new Promise((resolve) => statements.push({ ids, answer: () => resolve({ rows: [], rowCount: 0 }) })),
  }
  const service = new DispatchService({
    db,
    bodies: {} as never,
    observer: {} as never,
    retryWhileUnavailable: (work) => work(),
    now: () => new Date(),
  })
  return { service, statements }
}

it.each([
  ['small', undefined],
  ['large', 300 * 1024],
])('takes %s events of each account in turn, however many one of them has', async (_, bytes) => {
  const { service, statements } = heldService()
  const of = (accountId: string): DispatchItem => ({
    id: newEventId(new Date()),
    accountId,
    ...(bytes && { bytes }),
  })
  for (let i = 0; i < 500; i += 1) void service.run(of('flooding'))
  const other = of('other')
  void service.run(other)
  expect(statements).toHaveLength(1)
  expect(statements[0]?.ids).not.toContain(other.id)
  // What it did not find to read is dispatched in a second statement about the same events.
  statements[0]?.answer()
  while (statements.length < 2) await new Promise(setImmediate)
  statements[1]?.answer()
  while (statements.length < 3) await new Promise(setImmediate)
  expect(statements[2]?.ids).toContain(other.id)
})
