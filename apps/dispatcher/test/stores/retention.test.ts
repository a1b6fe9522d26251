import { describe, expect, it } from '@jest/globals'
import type { Db, Tx } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  queueSummary,
  anAccount,
  anEndpoint,
  countRows,
  aSummary,
  deliveryState,
  later,
  NOW,
} from '@signet/webhook-testkit'
import { newEventId, type DeliveryId } from '@signet/webhook-core'
import { deleteEndpoint, purgeRecording } from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { deleteOldEndpoints, deleteOldEvents } from '../../src/retention/retention-store.js'
import { aResult, deliveriesIn, eventStates, pendingDeliveries, retry } from '../support/deliveries.js'

const database = useWebhooksDatabase()

describe('retention', () => {
  const deleteEvents = async (db: Db | Tx, before: Date, limit: number) => {
    const deleteIn = async (tx: Tx) => (await deleteOldEvents(tx, before, limit)).count
    return 'transaction' in db ? db.transaction(deleteIn) : deleteIn(db)
  }

  /** Backdates the deliveries, as if they were as old as their events. */
  const backdate = (deliveries: readonly { id: DeliveryId }[]) =>
    database.db.query(`update webhook_deliveries set created_at = to_timestamp(0) where id = any ($1)`, [
      deliveries.map(({ id }) => id),
    ])

  /** An event of that many milliseconds after 1970 whose only delivery was dispatched and has ended now. */
  async function anEndedEvent(ms: number) {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(ms)) })
    await queueSummary(db, summary)
    const made = deliveriesIn(await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW))
    await recordAttempts(
      db,
      made.map((delivery) => aResult(delivery, { kind: 'over', error: 'http_500' })),
    )
    return { endpoint, summary, made }
  }

  it('deletes the oldest events with deliveries and attempts, in batches, and none younger', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const old = [1, 2, 3].map((ms) =>
      aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(ms)) }),
    )
    const young = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(2000)) })
    for (const summary of [...old, young]) await queueSummary(db, summary)
    const made = await dispatchEvents(
      db,
      [...old, young].map(({ eventId }) => ({ id: eventId, body: '{}' })),
      NOW,
    )
    await recordAttempts(
      db,
      deliveriesIn(made).map((delivery) => aResult(delivery, { kind: 'delivered' })),
    )
    await backdate(made.created)

    const deleted = []
    do deleted.push(await deleteEvents(db, new Date(2000), 2))
    while (deleted.at(-1))
    expect(deleted).toEqual([2, 1, 0])
    expect(await countRows(database.db, 'webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(1)
    expect(Object.keys(await eventStates(db, [young.eventId]))).toHaveLength(1)
    const { rows } = await db.query(
      `select a.delivery_id from webhook_attempts a where a.delivery_id = any ($1)`,
      [made.created.map(({ id }) => id)],
    )
    expect(rows).toHaveLength(1)
  })

  it('steps over rows that are in use', async () => {
    const { db } = database
    const ids = [5, 6].map((ms) => newEventId(new Date(ms)))
    for (const eventId of ids) await queueSummary(db, aSummary({ accountId: anAccount(), eventId }))
    await dispatchEvents(
      db,
      ids.map((id) => ({ id, body: '{}' })),
      NOW,
    )
    await db.transaction(async (tx) => {
      await tx.query(`select id from webhook_events where id = $1 for update`, [ids[0]])
      expect(await deleteEvents(db, new Date(1000), 10)).toBe(1)
    })
    expect(await deleteEvents(db, new Date(1000), 10)).toBe(1)
  })

  it('keeps an event that nobody dispatched, however old, until it has been delivered', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(9)) })
    await queueSummary(db, summary)
    expect(await deleteEvents(db, new Date(1000), 10)).toBe(0)
    const made = await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW)
    expect(made.created).toHaveLength(1)
  })

  it('keeps the log of an old event that was dispatched late as long as that of any other', async () => {
    const { db } = database
    const { made } = await anEndedEvent(10)
    expect(await deleteEvents(db, new Date(1000), 10)).toBe(0)
    await backdate(made)
    expect(await deleteEvents(db, new Date(1000), 10)).toBe(1)
  })

  it('keeps an event that gets a new delivery while a batch is looking for old ones', async () => {
    const { db } = database
    const { endpoint, summary, made } = await anEndedEvent(12)
    await backdate(made)
    /** A replay that is committed before the batch locks the event, but after it has decided to. */
    const replay = () =>
      db.query(
        `insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at, replay)
         values ($1, $2, 'summary.completed', now(), 1)`,
        [endpoint.id, summary.eventId],
      )
    await db.transaction((tx) => {
      const query: Tx['query'] = async (text, values) => {
        const result = await tx.query<never>(text, values)
        if (result.rows.length > 0) await replay()
        return result
      }
      return deleteEvents({ ...tx, query }, new Date(1000), 10)
    })
    expect(await countRows(db, 'webhook_deliveries', 'event_id', summary.eventId)).toBe(2)
    expect(Object.keys(await eventStates(db, [summary.eventId]))).toHaveLength(1)
  })

  it('deletes an old event whose recording was deleted before anybody dispatched it', async () => {
    const { db } = database
    const summary = aSummary({ accountId: anAccount(), eventId: newEventId(new Date(11)) })
    await queueSummary(db, summary)
    await purgeRecording(db, summary)
    expect(await deleteEvents(db, new Date(1000), 10)).toBe(1)
  })

  describe('leaves deliveries alone', () => {
    /** Makes a statement fail if it would have to wait for someone else's row. */
    const withoutWaiting = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      database.db.transaction(async (tx) => {
        await tx.query(`set local lock_timeout = '100ms'`)
        return work(tx)
      })

    /** Makes deliveries of one endpoint: of an old event that was delivered, of an old one that is still pending, and of a young one. */
    async function threeDeliveries() {
      const { db } = database
      const endpoint = await anEndpoint(db)
      const summaries = [7, 8, 2000].map((ms) =>
        aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(ms)) }),
      )
      for (const summary of summaries) await queueSummary(db, summary)
      const events = summaries.map(({ eventId }) => ({ id: eventId, body: '{}' }))
      const made = deliveriesIn(await dispatchEvents(db, events, NOW))
      const [ended, pending, young] = events.map(({ id }) => made.find(({ eventId }) => eventId === id))
      if (!ended || !pending || !young) throw new Error('three deliveries')
      await backdate([ended, pending])
      await recordAttempts(db, [aResult(ended, { kind: 'delivered' })])
      return { endpoint, ended, pending, young }
    }

    it('lets ingest, dispatch and results go on while a batch is not committed yet', async () => {
      const { db } = database
      const { endpoint, ended, pending, young } = await threeDeliveries()
      await db.transaction(async (purge) => {
        expect(await deleteEvents(purge, new Date(1000), 10)).toBe(1)
        await withoutWaiting(async (tx) => {
          const next = aSummary({ accountId: endpoint.accountId })
          await queueSummary(tx, next)
          const [made] = deliveriesIn(await dispatchEvents(tx, [{ id: next.eventId, body: '{}' }], NOW))
          if (!made) throw new Error('no delivery')
          const results = [made, young, pending].map((delivery) => aResult(delivery, retry()))
          expect(await recordAttempts(tx, results)).toHaveLength(3)
        })
      })
      expect(await countRows(database.db, 'webhook_deliveries', 'id', ended.id)).toBe(0)
      expect(await deliveryState(db, pending.id)).toMatchObject({ status: 0, attempts: 1 })
    })

    it('does not wait for results that are being recorded', async () => {
      const { db } = database
      const { endpoint, ended, pending, young } = await threeDeliveries()
      await db.transaction(async (results) => {
        await recordAttempts(
          results,
          [pending, young].map((delivery) => aResult(delivery, retry())),
        )
        expect(await withoutWaiting((tx) => deleteEvents(tx, new Date(1000), 10))).toBe(1)
      })
      expect(await countRows(database.db, 'webhook_deliveries', 'id', ended.id)).toBe(0)
      expect(await countRows(database.db, 'webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(2)
    })

    it('keeps an old event until its last delivery has ended', async () => {
      const { db } = database
      const { ended, pending } = await threeDeliveries()
      await deleteEvents(db, new Date(1000), 10)
      expect(await countRows(database.db, 'webhook_events', 'id', ended.eventId)).toBe(0)
      expect(await countRows(database.db, 'webhook_events', 'id', pending.eventId)).toBe(1)
      await recordAttempts(db, [aResult(pending, { kind: 'over', error: 'http_500' })])
      await deleteEvents(db, new Date(1000), 10)
      expect(await countRows(database.db, 'webhook_events', 'id', pending.eventId)).toBe(0)
    })
  })

  it('deletes endpoints that were deleted long ago once nothing refers to them', async () => {
    const { db } = database
    const [used, unused, live] = [await anEndpoint(db), await anEndpoint(db), await anEndpoint(db)]
    await pendingDeliveries(db, used, 1)
    for (const endpoint of [used, unused]) await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    expect(await deleteOldEndpoints(db, new Date(Date.now() - 60_000), 100)).toBe(0)
    await deleteOldEndpoints(db, later(0), 100)
    expect(await countRows(database.db, 'webhook_endpoints', 'id', unused.id)).toBe(0)
    expect(await countRows(database.db, 'webhook_endpoints', 'id', used.id)).toBe(1)
    expect(await countRows(database.db, 'webhook_endpoints', 'id', live.id)).toBe(1)
  })
})
