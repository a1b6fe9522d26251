import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { queueSummary, behindLock, anEndpoint, aSummary, countRows, NOW } from '@signet/webhook-testkit'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { replayDeliveries } from '../../src/operations/replay-store.js'
import { aResult, pendingDeliveries, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()

// These rows have no foreign keys: triggers delete them, and statements that insert them lock the rows they belong to.
const [EVENT, ENDPOINT, DELIVERY] = ['webhook_events', 'webhook_endpoints', 'webhook_deliveries'] as const
const remove = (table: string) => `delete from ${table} where id = $1`
const attemptsOf = ({ id }: TestDelivery) => countRows(database.db, 'webhook_attempts', 'delivery_id', id)
const deliveriesOf = (eventId: string) => countRows(database.db, 'webhook_deliveries', 'event_id', eventId)

async function tried(): Promise<{ tried: TestDelivery; other: TestDelivery }> {
  const { db } = database
  const [one] = await pendingDeliveries(db, await anEndpoint(db), 1)
  const [other] = await pendingDeliveries(db, await anEndpoint(db), 1)
  if (!one || !other) throw new Error('two deliveries')
  const over = { kind: 'over', error: 'http_500' } as const
  await recordAttempts(db, [aResult(one, over), aResult(other, over)])
  return { tried: one, other }
}

describe('what belongs to a row goes with it', () => {
  it.each([
    [EVENT, (delivery: TestDelivery) => delivery.eventId],
    [ENDPOINT, (delivery: TestDelivery) => delivery.endpointId],
    [DELIVERY, (delivery: TestDelivery) => delivery.id],
  ])('in %s, and nothing of others', async (table, idOf) => {
    const { tried: gone, other } = await tried()
    await database.db.query(remove(table), [idOf(gone)])
    expect([await deliveriesOf(gone.eventId), await attemptsOf(gone)]).toEqual([0, 0])
    expect([await deliveriesOf(other.eventId), await attemptsOf(other)]).toEqual([1, 1])
  })

  it.each(['result', 'deletion'])(
    'when a result comes in at the same moment, the %s first',
    async (first) => {
      const { db } = database
      const [delivery] = await pendingDeliveries(db, await anEndpoint(db), 1)
      if (!delivery) throw new Error('a delivery')
      const work = [
        () => recordAttempts(db, [aResult(delivery, { kind: 'delivered' })]),
        () => db.query(remove(EVENT), [delivery.eventId]),
      ]
      if (first === 'deletion') work.reverse()
      await behindLock(
        db,
        (tx) => tx.query(`select from webhook_deliveries where id = $1 for update`, [delivery.id]),
        2,
        () => Promise.all(work.map((step) => step())),
      )
      expect([await deliveriesOf(delivery.eventId), await attemptsOf(delivery)]).toEqual([0, 0])
    },
  )
})

describe('an event that is being deleted gets no more deliveries', () => {
  it('by its dispatch', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const { eventId } = aSummary({ accountId })
    await queueSummary(db, aSummary({ accountId, eventId }))
    const dispatch = () => dispatchEvents(db, [{ id: eventId, body: '{}' }], NOW)
    const meanwhile = await db.transaction(async (tx) => {
      await tx.query(remove(EVENT), [eventId])
      return dispatch()
    })
    expect(meanwhile).toMatchObject({ created: [], locked: [eventId] })
    expect(await dispatch()).toMatchObject({ created: [], unfinished: [], locked: [] })
    expect(await deliveriesOf(eventId)).toBe(0)
  })

  it('by a replay', async () => {
    const { db } = database
    const { tried: delivery } = await tried()
    const request = { operator: 'ada', reason: 'a test', now: NOW, limit: 10 }
    const made = await behindLock(
      db,
      (tx) => tx.query(remove(EVENT), [delivery.eventId]),
      1,
      () => replayDeliveries(db, { ...request, deliveryId: delivery.id }),
    )
    expect([made, await deliveriesOf(delivery.eventId)]).toEqual([[], 0])
  })
})
