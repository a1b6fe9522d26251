import { describe, expect, it } from '@jest/globals'
import { type Db, type Tx } from '@signet/db'
import {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  deleteOldEndpoints,
  deleteOldEvents,
  dispatchEvents,
  findAttemptPlans,
  findBodies,
  findEvents,
  findRecordings,
  ingestSummary,
  listEndpoints,
  newEventId,
  purgeRecording,
  recordAttempts,
  type DeliveryId,
  type IngestedSummary,
} from '../src/index.js'
import { behindLock } from './support/behind-lock.js'
import { useDatabase } from './support/database.js'
import {
  aResult,
  anAccount,
  anEndpoint,
  aSummary,
  deliveriesIn,
  deliveryState,
  later,
  NOW,
  pendingDeliveries,
  retry,
} from './support/fixtures.js'

const database = useDatabase()
const count = async (table: string, where: string, value: unknown): Promise<number> => {
  const { rows } = await database.db.query<{ n: number }>(
    `select count(*)::integer as n from ${table} where ${where} = $1`,
    [value],
  )
  return rows[0]?.n ?? -1
}

describe('purgeRecording', () => {
  it('removes mirror and bodies, ends what is pending and leaves what has ended', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [delivered, pending] = await pendingDeliveries(db, endpoint, 2)
    if (!delivered || !pending) throw new Error('two deliveries')
    await recordAttempts(db, [aResult(delivered, { kind: 'delivered' })])
    const queued = aSummary({ accountId: endpoint.accountId, recording: { title: 'secret' } })
    const other = aSummary({ accountId: endpoint.accountId, audioId: 'rec_other' })
    for (const summary of [queued, other]) await ingestSummary(db, summary)

    expect(await purgeRecording(db, queued)).toEqual({ purgedEvents: 3, cancelledDeliveries: 1 })

    expect(await findRecordings(db, [queued])).toEqual([null])
    expect(await findBodies(db, [delivered.eventId, pending.eventId])).toEqual([])
    expect((await deliveryState(db, delivered.id)).status).toBe(1)
    expect(await deliveryState(db, pending.id)).toMatchObject({ status: 2, last_error: 'recording_deleted' })
    const states = await findEvents(db, [queued.eventId, other.eventId])
    expect(states.map(({ id, state }) => [id, state]).sort()).toEqual(
      [
        [queued.eventId, 'purged'],
        [other.eventId, 'queued'],
      ].sort(),
    )
    expect(await purgeRecording(db, queued)).toEqual({ purgedEvents: 0, cancelledDeliveries: 0 })
  })

  it('leaves no event to be sent, whether it comes before or after a simultaneous dispatch', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    for (let round = 0; round < 20; round += 1) {
      const summary = aSummary({ accountId: endpoint.accountId })
      await ingestSummary(db, summary)
      await Promise.all([
        dispatchEvents(db, [{ id: summary.eventId, body: '{"secret":1}' }], NOW),
        purgeRecording(db, summary),
      ])
      expect(await findBodies(db, [summary.eventId])).toEqual([])
      const { rows } = await db.query<{ id: never }>(
        `select id from webhook_deliveries where event_id = $1 and status = 0`,
        [summary.eventId],
      )
      // A delivery made in the same instant may be left: its plan says that there is nothing to send.
      for (const plan of await findAttemptPlans(
        db,
        rows.map(({ id }) => id),
      ))
        expect(plan.eventState).toBe('purged')
    }
  })
})

// Dispatch locks the events of its batch by ascending id.
it.each([
  ['forgetting a recording', purgeRecording],
  ['closing an account', (db: Db, { accountId }: IngestedSummary) => closeAccount(db, accountId)],
])('%s and dispatching its events never wait for each other', async (_name, end) => {
  const { db } = database
  const { accountId } = await anEndpoint(db)
  // The table has them in descending order.
  const summaries = [30, 20, 10].map((ms) => aSummary({ accountId, eventId: newEventId(new Date(ms)) }))
  for (const summary of summaries) await ingestSummary(db, summary)
  const [, middle] = summaries
  if (!middle) throw new Error('three summaries')
  await behindLock(
    db,
    (tx) => tx.query(`select from webhook_events where id = $1 for update`, [middle.eventId]),
    2,
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
    await ingestSummary(db, queued)

    await closeAccount(db, mine.accountId)
    expect(await listEndpoints(db, mine.accountId)).toEqual([])
    for (const { id } of deliveries)
      expect(await deliveryState(db, id)).toMatchObject({ status: 2, last_error: 'endpoint_deleted' })
    expect(await dispatchEvents(db, [{ id: queued.eventId, body: '{}' }], NOW)).toEqual({
      created: [],
      left: [],
    })

    const batches: number[] = []
    do batches.push(await deleteAccountEvents(db, mine.accountId, 2))
    while (batches.at(-1))
    await deleteAccountEndpoints(db, mine.accountId)

    expect(batches).toEqual([2, 2, 2, 0])
    for (const table of ['webhook_endpoints', 'webhook_events', 'recordings', 'transcripts', 'summaries']) {
      expect([table, await count(table, 'account_id', mine.accountId)]).toEqual([table, 0])
    }
    expect(await count('webhook_deliveries', 'endpoint_id', mine.id)).toBe(0)
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
  expect(await count('webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(0)
})

describe('retention', () => {
  /** As if the deliveries had been made when their event was. */
  const backdate = (deliveries: readonly { id: DeliveryId }[]) =>
    database.db.query(`update webhook_deliveries set created_at = to_timestamp(0) where id = any ($1)`, [
      deliveries.map(({ id }) => id),
    ])

  it('deletes the oldest events with deliveries and attempts, in batches, and none younger', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const old = [1, 2, 3].map((ms) =>
      aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(ms)) }),
    )
    const young = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(2000)) })
    for (const summary of [...old, young]) await ingestSummary(db, summary)
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
    do deleted.push(await deleteOldEvents(db, new Date(2000), 2))
    while (deleted.at(-1))
    expect(deleted).toEqual([2, 1, 0])
    expect(await count('webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(1)
    expect(await findEvents(db, [young.eventId])).toHaveLength(1)
    const { rows } = await db.query(
      `select a.delivery_id from webhook_attempts a where a.delivery_id = any ($1)`,
      [made.created.map(({ id }) => id)],
    )
    expect(rows).toHaveLength(1)
  })

  it('steps over rows that are in use', async () => {
    const { db } = database
    const ids = [5, 6].map((ms) => newEventId(new Date(ms)))
    for (const eventId of ids) await ingestSummary(db, aSummary({ accountId: anAccount(), eventId }))
    await dispatchEvents(
      db,
      ids.map((id) => ({ id, body: '{}' })),
      NOW,
    )
    await db.transaction(async (tx) => {
      await tx.query(`select id from webhook_events where id = $1 for update`, [ids[0]])
      expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(1)
    })
    expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(1)
  })

  it('keeps an event that nobody dispatched, however old, until it has been delivered', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(9)) })
    await ingestSummary(db, summary)
    expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(0)
    const made = await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW)
    expect(made.created).toHaveLength(1)
  })

  it('keeps the log of an old event that was dispatched late as long as that of any other', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(10)) })
    await ingestSummary(db, summary)
    const made = deliveriesIn(await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW))
    await recordAttempts(
      db,
      made.map((delivery) => aResult(delivery, { kind: 'over', error: 'http_500' })),
    )
    expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(0)
    await backdate(made)
    expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(1)
  })

  it('deletes an old event whose recording was deleted before anybody dispatched it', async () => {
    const { db } = database
    const summary = aSummary({ accountId: anAccount(), eventId: newEventId(new Date(11)) })
    await ingestSummary(db, summary)
    await purgeRecording(db, summary)
    expect(await deleteOldEvents(db, new Date(1000), 10)).toBe(1)
  })

  describe('leaves deliveries alone', () => {
    /** A statement that has to wait for somebody else's row fails instead. */
    const withoutWaiting = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      database.db.transaction(async (tx) => {
        await tx.query(`set local lock_timeout = '100ms'`)
        return work(tx)
      })

    /** Of one endpoint: an old event that was delivered, an old one that is still pending, and a young one. */
    async function threeDeliveries() {
      const { db } = database
      const endpoint = await anEndpoint(db)
      const summaries = [7, 8, 2000].map((ms) =>
        aSummary({ accountId: endpoint.accountId, eventId: newEventId(new Date(ms)) }),
      )
      for (const summary of summaries) await ingestSummary(db, summary)
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
        expect(await deleteOldEvents(purge, new Date(1000), 10)).toBe(1)
        await withoutWaiting(async (tx) => {
          const next = aSummary({ accountId: endpoint.accountId })
          await ingestSummary(tx, next)
          const [made] = deliveriesIn(await dispatchEvents(tx, [{ id: next.eventId, body: '{}' }], NOW))
          if (!made) throw new Error('no delivery')
          const results = [made, young, pending].map((delivery) => aResult(delivery, retry()))
          expect(await recordAttempts(tx, results)).toHaveLength(3)
        })
      })
      expect(await count('webhook_deliveries', 'id', ended.id)).toBe(0)
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
        expect(await withoutWaiting((tx) => deleteOldEvents(tx, new Date(1000), 10))).toBe(1)
      })
      expect(await count('webhook_deliveries', 'id', ended.id)).toBe(0)
      expect(await count('webhook_deliveries', 'endpoint_id', endpoint.id)).toBe(2)
    })

    it('keeps an old event until its last delivery has ended', async () => {
      const { db } = database
      const { ended, pending } = await threeDeliveries()
      await deleteOldEvents(db, new Date(1000), 10)
      expect(await count('webhook_events', 'id', ended.eventId)).toBe(0)
      expect(await count('webhook_events', 'id', pending.eventId)).toBe(1)
      await recordAttempts(db, [aResult(pending, { kind: 'over', error: 'http_500' })])
      await deleteOldEvents(db, new Date(1000), 10)
      expect(await count('webhook_events', 'id', pending.eventId)).toBe(0)
    })
  })

  it('deletes endpoints that were deleted long ago once nothing refers to them', async () => {
    const { db } = database
    const [used, unused, live] = [await anEndpoint(db), await anEndpoint(db), await anEndpoint(db)]
    await pendingDeliveries(db, used, 1)
    for (const endpoint of [used, unused]) await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    expect(await deleteOldEndpoints(db, new Date(Date.now() - 60_000), 100)).toBe(0)
    await deleteOldEndpoints(db, later(0), 100)
    expect(await count('webhook_endpoints', 'id', unused.id)).toBe(0)
    expect(await count('webhook_endpoints', 'id', used.id)).toBe(1)
    expect(await count('webhook_endpoints', 'id', live.id)).toBe(1)
  })
})
