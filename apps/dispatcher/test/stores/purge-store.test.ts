import { describe, expect, it } from '@jest/globals'
import type { Db } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  queueSummary,
  type TestSummary,
  behindLock,
  anEndpoint,
  countRows,
  aSummary,
  deliveryState,
  NOW,
  findRecordings,
} from '@signet/webhook-testkit'
import { newEventId } from '@signet/webhook-core'
import {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  listEndpoints,
  purgeRecording,
} from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { findDeliverySnapshots } from '../../src/deliveries/delivery-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { findBodies } from '../../src/events/event-store.js'
import { aResult, eventStates, pendingDeliveries } from '../support/deliveries.js'

const database = useWebhooksDatabase()

describe('purgeRecording', () => {
  it('removes mirror and bodies, ends what is pending and leaves what has ended', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [delivered, pending] = await pendingDeliveries(db, endpoint, 2)
    if (!delivered || !pending) throw new Error('two deliveries')
    await recordAttempts(db, [aResult(delivered, { kind: 'delivered' })])
    const queued = aSummary({ accountId: endpoint.accountId, recording: { title: 'secret' } })
    const other = aSummary({ accountId: endpoint.accountId, audioId: 'rec_other' })
    for (const summary of [queued, other]) await queueSummary(db, summary)

    expect(await purgeRecording(db, queued)).toEqual({ purgedEvents: 3, cancelledDeliveries: 1 })

    expect(await findRecordings(db, [queued])).toEqual([null])
    expect(await findBodies(db, [delivered.eventId, pending.eventId])).toEqual([])
    expect((await deliveryState(db, delivered.id)).status).toBe(1)
    expect(await deliveryState(db, pending.id)).toMatchObject({ status: 2, last_error: 'recording_deleted' })
    expect(await eventStates(db, [queued.eventId, other.eventId])).toEqual({
      [queued.eventId]: 'purged',
      [other.eventId]: 'queued',
    })
    expect(await purgeRecording(db, queued)).toEqual({ purgedEvents: 0, cancelledDeliveries: 0 })
  })

  it('leaves no event to be sent, whether it comes before or after a simultaneous dispatch', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    for (let round = 0; round < 20; round += 1) {
      const summary = aSummary({ accountId: endpoint.accountId })
      await queueSummary(db, summary)
      await Promise.all([
        dispatchEvents(db, [{ id: summary.eventId, body: '{"secret":1}' }], NOW),
        purgeRecording(db, summary),
      ])
      expect(await findBodies(db, [summary.eventId])).toEqual([])
      const { rows } = await db.query<{ id: never }>(
        `select id from webhook_deliveries where event_id = $1 and status = 0`,
        [summary.eventId],
      )
      // The purge may miss a delivery made at the same instant; its snapshot then says that there is nothing to send.
      for (const snapshot of await findDeliverySnapshots(
        db,
        rows.map(({ id }) => id),
      ))
        expect(snapshot.eventState).toBe('purged')
    }
  })
})

// Dispatch skips the rows that the other has locked, and may itself have locked what the other needs next.
it.each([
  ['forgetting a recording', purgeRecording],
  ['closing an account', (db: Db, { accountId }: TestSummary) => closeAccount(db, accountId)],
])('%s and dispatching its events never wait for each other', async (_name, end) => {
  const { db } = database
  const { accountId } = await anEndpoint(db)
  // The table stores them in descending order.
  const summaries = [30, 20, 10].map((ms) => aSummary({ accountId, eventId: newEventId(new Date(ms)) }))
  for (const summary of summaries) await queueSummary(db, summary)
  const [, middle] = summaries
  if (!middle) throw new Error('three summaries')
  await behindLock(
    db,
    (tx) => tx.query(`select from webhook_events where id = $1 for update`, [middle.eventId]),
    1,
    () =>
      Promise.all([
        dispatchEvents(
          db,
          summaries.map(({ eventId }) => ({ id: eventId, body: '{}' })),
          NOW,
        ),
        end(db, middle),
      ]),
  )
})

describe('deleting an account', () => {
  it('stops it at once and then removes every row of it, and nothing of others', async () => {
    const { db } = database
    const [mine, other] = [await anEndpoint(db), await anEndpoint(db)]
    const deliveries = await pendingDeliveries(db, mine, 5)
    const kept = await pendingDeliveries(db, other, 1)
    const gone = await anEndpoint(db, { accountId: mine.accountId })
    await deleteEndpoint(db, mine.accountId, gone.id)
    const queued = aSummary({
      accountId: mine.accountId,
      recording: { title: 'x' },
      transcript: { text: 'x' },
      summaries: [],
    })
    await queueSummary(db, queued)

    await closeAccount(db, mine.accountId)
    expect(await listEndpoints(db, mine.accountId)).toEqual([])
    for (const { id } of deliveries)
      expect(await deliveryState(db, id)).toMatchObject({ status: 2, last_error: 'endpoint_deleted' })
    expect(await dispatchEvents(db, [{ id: queued.eventId, body: '{}' }], NOW)).toMatchObject({
      created: [],
      unfinished: [],
    })

    const batches: number[] = []
    do batches.push(await deleteAccountEvents(db, mine.accountId, 2))
    while (batches.at(-1))
    await deleteAccountEndpoints(db, mine.accountId)

    expect(batches).toEqual([2, 2, 2, 0])
    for (const table of ['webhook_endpoints', 'webhook_events', 'recordings', 'transcripts', 'summaries']) {
      expect([table, await countRows(database.db, table, 'account_id', mine.accountId)]).toEqual([table, 0])
    }
    expect(await countRows(database.db, 'webhook_deliveries', 'endpoint_id', mine.id)).toBe(0)
    expect(await deliveryState(db, kept[0]?.id as never)).toMatchObject({ status: 0 })
  })
})

it('deleting events and recording their last results never wait for each other', async () => {
  const { db } = database
  const endpoint = await anEndpoint(db)
  const deliveries = await pendingDeliveries(db, endpoint, 3)
  await closeAccount(db, endpoint.accountId)
  const ids = deliveries.map(({ id }) => id).sort((a, b) => Number(a) - Number(b))
  await behindLock(
    db,
    (tx) => tx.query(`select id from webhook_deliveries where id = $1 for update`, [ids[1]]),
    2,
    () =>
      Promise.all([
        recordAttempts(
          db,
          deliveries.map((delivery) => aResult(delivery, { kind: 'delivered' })),
        ),
        deleteAccountEvents(db, endpoint.accountId, 10),
      ]),
  )
  expect(await countRows(database.db, 'webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(0)
})
