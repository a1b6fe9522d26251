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
import { newEventId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import {
  cancelBacklog,
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  listEndpoints,
  purgeRecording,
  type Endpoint,
} from '@signet/webhook-core/stores'
import { listAttempts, recordAttempts, recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import { findDeliverySnapshots } from '../../src/deliveries/delivery-store.js'
import { countRepeatedAttempt } from '../../src/deliveries/repeated-attempt-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { findBodies } from '../../src/events/event-store.js'
import { aResult, eventStates, pendingDeliveries, retry, type TestDelivery } from '../support/deliveries.js'
import { firstResultsIn, onlyOne, resultOf } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { snapshotsFor } = firstResultsIn(database)

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

describe('a purge leaves no response of a receiver', () => {
  const ECHO = { answer: 'what was sent' }
  const failed = (delivery: TestDelivery) => aResult(delivery, retry(), ECHO)
  const answersOf = async (deliveryId: DeliveryId) =>
    (await listAttempts(database.db, [deliveryId])).map(({ answer }) => answer)

  async function aPending() {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const delivery = onlyOne(await pendingDeliveries(db, endpoint, 1))
    const { rows } = await db.query<{ audio_id: string }>(
      'select audio_id from webhook_events where id = $1',
      [delivery.eventId],
    )
    const recording = { accountId: endpoint.accountId, audioId: rows[0]?.audio_id ?? '' }
    return { endpoint, delivery, recording }
  }
  const disable = async ({ id }: { id: EndpointId }) => {
    await database.db.query('update webhook_endpoints set status = 2, disabled_at = now() where id = $1', [
      id,
    ])
    await cancelBacklog(database.db, id, null, 10)
  }

  it('of a result that was being recorded while the purge waited for it', async () => {
    const { db } = database
    const { delivery, recording } = await aPending()
    await behindLock(
      db,
      (tx) => recordAttempts(tx, [failed(delivery)]),
      1,
      () => purgeRecording(db, recording),
    )
    expect(await answersOf(delivery.id)).toEqual([''])
  })

  it('of a first result that was being recorded while the purge waited for it', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(accountId, 1, 'rec_answered'))
    await behindLock(
      db,
      (tx) => recordFirstAttempts(tx, [{ ...resultOf(snapshot, retry()), ...ECHO }], [snapshot.eventId]),
      1,
      () => purgeRecording(db, { accountId, audioId: 'rec_answered' }),
    )
    expect(await answersOf(snapshot.id)).toEqual([''])
  })

  it.each<[string, (endpoint: Endpoint) => Promise<unknown>]>([
    ['disabled', disable],
    ['deleted', ({ accountId, id }) => deleteEndpoint(database.db, accountId, id)],
  ])('of an attempt in flight to an endpoint that was %s before', async (_, end) => {
    const { endpoint, delivery, recording } = await aPending()
    await end(endpoint)
    expect(await purgeRecording(database.db, recording)).toEqual({ purgedEvents: 1, cancelledDeliveries: 0 })
    await recordAttempts(database.db, [failed(delivery)])
    expect(await answersOf(delivery.id)).toEqual([''])
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      status: 2,
      last_error: 'recording_deleted',
    })
  })

  it('of an attempt in flight to a disabled endpoint whose result waits for the purge', async () => {
    const { db } = database
    const { endpoint, delivery, recording } = await aPending()
    await disable(endpoint)
    await behindLock(
      db,
      (tx) => purgeRecording(tx, recording),
      1,
      () => recordAttempts(db, [failed(delivery)]),
    )
    expect(await answersOf(delivery.id)).toEqual([''])
  })

  it('of an attempt in flight when an earlier one ended the delivery', async () => {
    const { db } = database
    const { delivery, recording } = await aPending()
    await recordAttempts(db, [aResult(delivery, { kind: 'delivered' })])
    await purgeRecording(db, recording)
    await recordAttempts(db, [aResult(delivery, retry(), { ...ECHO, number: 2, key: 2 })])
    expect(await answersOf(delivery.id)).toEqual(['', ''])
  })

  it('of a repeated attempt whose count waits for the purge', async () => {
    const { db } = database
    const { delivery, recording } = await aPending()
    await recordAttempts(db, [aResult(delivery, { kind: 'over', error: 'http_500' })])
    await behindLock(
      db,
      (tx) => purgeRecording(tx, recording),
      1,
      () => countRepeatedAttempt(db, aResult(delivery, retry(), { ...ECHO, key: 2 })),
    )
    expect(await answersOf(delivery.id)).toEqual(['', ''])
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
