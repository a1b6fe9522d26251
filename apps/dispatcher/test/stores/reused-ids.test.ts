import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, deliveryState, NOW } from '@signet/webhook-testkit'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import { recordAttempts, recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { writeDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { aRecorder, eventStates, retry } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, resultOf, storeRows } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { snapshotsFor, snapshotsWithOneId, rowsOf } = firstResultsIn(database)

describe('an id that the sequence issued twice', () => {
  it.each<[string, (late: DeliverySnapshot) => Promise<unknown>]>([
    [
      'a first result',
      (late) => recordFirstAttempts(database.db, [resultOf(late, DELIVERED)], [late.eventId]),
    ],
    ['a pending row', (late) => writeDeliveries(database.db, [late], NOW)],
  ])('fails %s instead of losing the delivery, and leaves the event queued', async (_what, write) => {
    const { written, late } = await snapshotsWithOneId()
    await recordFirstAttempts(database.db, [resultOf(written, retry())], [written.eventId])
    await expect(write(late)).rejects.toMatchObject({ code: '23505', constraint: 'webhook_deliveries_pkey' })
    expect(await eventStates(database.db, [late.eventId])).toEqual({ [late.eventId]: 'queued' })
    expect(await rowsOf(written.endpoint.accountId)).toMatchObject([{ id: late.id, status: 0 }])
  })

  it('gives a delivery no result of another one, of its own endpoint neither', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [one, other] = (await snapshotsFor(accountId, 2)) as [DeliverySnapshot, DeliverySnapshot]
    const { late, written } = await snapshotsWithOneId()
    const pending = [one, other, written]
    await recordFirstAttempts(
      db,
      pending.map((snapshot) => resultOf(snapshot, retry())),
      [],
    )
    const strange = [resultOf(late, DELIVERED), { ...resultOf(one, DELIVERED), eventId: other.eventId }]
    expect(await recordAttempts(db, strange)).toEqual([])
    for (const { id } of pending)
      expect(await deliveryState(db, id)).toMatchObject({ status: 0, attempts: 1 })
  })

  it('fails only the result with that id, of all that are recorded together', async () => {
    const { db } = database
    const { written, late } = await snapshotsWithOneId()
    await recordFirstAttempts(db, [resultOf(written, DELIVERED)], [written.eventId])
    const others = await snapshotsFor((await anEndpoint(db)).accountId, 3)
    const recorder = aRecorder(db)
    const settled = await Promise.allSettled(
      [late, ...others].map((snapshot) => {
        const event = new UnwrittenEvent(snapshot.eventId, [snapshot], (all) => storeRows(db, all))
        return recorder.record(resultOf(snapshot, DELIVERED), snapshot.endpoint.accountId, {
          snapshot,
          event,
        })
      }),
    )
    expect(settled).toMatchObject([
      { status: 'rejected', reason: { code: '23505' } },
      ...others.map(({ id }) => ({ status: 'fulfilled', value: { deliveryId: id, status: 1 } })),
    ])
  })
})
