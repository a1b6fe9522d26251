import { describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, behindLock, endpointState, NOW } from '@signet/webhook-testkit'
import {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  purgeRecording,
  type Endpoint,
} from '@signet/webhook-core/stores'
import { BacklogCanceller } from '../../src/attempts/backlog-canceller.js'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import type { RetryWhileUnavailable } from '../../src/database/retry-while-unavailable.js'
import { listAttempts, recordAttempts, recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { findEventSnapshots, writeDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { aRecorder, eventStates, retry } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, onlyOne, resultOf, storeRows } from '../support/first-results.js'

const database = useWebhooksDatabase()
const fail = (_endpointId: EndpointId, error: unknown) => {
  throw error
}
const { queued, snapshotsFor, rowsOf } = firstResultsIn(database)

describe('recordFirstAttempts among others', () => {
  it('gives an event one delivery for each endpoint when many processes attempt it at once', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [id] = await queued(endpoint.accountId)
    const snapshots = await Promise.all(
      Array.from({ length: 8 }, async () =>
        onlyOne(onlyOne(await findEventSnapshots(db, id ? [id] : [])).deliveries),
      ),
    )
    const recorded = await behindLock(
      db,
      (tx) => tx.query(`select from webhook_events where id = $1 for update`, [id]),
      8,
      () =>
        Promise.all(
          snapshots.map((snapshot) =>
            recordFirstAttempts(db, [resultOf(snapshot, DELIVERED)], [snapshot.eventId]),
          ),
        ),
    )
    const winners = recorded.flat()
    expect(winners).toHaveLength(1)
    expect(await rowsOf(endpoint.accountId)).toEqual([
      { id: winners[0]?.deliveryId, status: 1, last_error: '' },
    ])
    expect(
      await listAttempts(
        db,
        snapshots.map((snapshot) => snapshot.id),
      ),
    ).toHaveLength(1)
  })

  it('writes what is not there yet and nothing else, whoever comes first', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    await anEndpoint(db, { accountId })
    const [slow, fast] = (await snapshotsFor(accountId)) as [DeliverySnapshot, DeliverySnapshot]
    await recordFirstAttempts(db, [resultOf(fast, DELIVERED)], [])
    await writeDeliveries(db, [slow, fast], NOW)
    expect(await rowsOf(accountId)).toMatchObject(
      [
        { id: slow.id, status: 0 },
        { id: fast.id, status: 1 },
      ].sort((a, b) => Number(a.id) - Number(b.id)),
    )
    expect(await recordFirstAttempts(db, [resultOf(slow, DELIVERED)], [slow.eventId])).toEqual([])
    expect(await recordAttempts(db, [resultOf(slow, DELIVERED)])).toMatchObject([{ status: 1 }])
  })

  it('counts a failure once whose row is written while its statement waits for another event', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshots = (await snapshotsFor(endpoint.accountId, 2)).sort((a, b) =>
      a.eventId < b.eventId ? -1 : 1,
    )
    const [first, second] = snapshots as [DeliverySnapshot, DeliverySnapshot]
    const recorded = await behindLock(
      db,
      (tx) => tx.query(`select from webhook_events where id = $1 for update`, [first.eventId]),
      1,
      () =>
        recordFirstAttempts(
          db,
          snapshots.map((snapshot) => resultOf(snapshot, retry())),
          snapshots.map(({ eventId }) => eventId),
        ),
      // As for an attempt that takes long. The statement above already has its view of the tables, but no lock on this event yet.
      () => writeDeliveries(db, [second], NOW),
    )
    expect(recorded).toMatchObject([{ deliveryId: first.id, status: 0 }])
    expect(await endpointState(db, endpoint.id)).toMatchObject({ consecutive_failures: 1 })
    expect(await recordAttempts(db, [resultOf(second, retry())])).toMatchObject([{ attempts: 1 }])
    expect(await endpointState(db, endpoint.id)).toMatchObject({ consecutive_failures: 2 })
  })

  it('counts one failure of an event that its process runs twice at once', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [id] = await queued(endpoint.accountId)
    const recorder = aRecorder(db)
    const run = async () => {
      const snapshot = onlyOne(onlyOne(await findEventSnapshots(db, id ? [id] : [])).deliveries)
      return {
        snapshot,
        event: new UnwrittenEvent(snapshot.eventId, [snapshot], (all) => storeRows(db, all)),
      }
    }
    const runs = [await run(), await run()]
    const recorded = await Promise.all(
      runs.map((one) => recorder.record(resultOf(one.snapshot, retry()), endpoint.accountId, one)),
    )
    expect(recorded).toMatchObject([{ status: 0 }, null])
    expect(await endpointState(db, endpoint.id)).toMatchObject({ consecutive_failures: 1 })
  })

  it('takes two results of one delivery for no result of another, so that the event stays queued', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    await anEndpoint(db, { accountId })
    const snapshots = (await snapshotsFor(accountId)) as [DeliverySnapshot, DeliverySnapshot]
    const [twice, other] = snapshots
    const event = new UnwrittenEvent(twice.eventId, snapshots, (all) => storeRows(db, all))
    const recorder = aRecorder(db)
    const record = (snapshot: DeliverySnapshot, key: number) =>
      recorder.record({ ...resultOf(snapshot, DELIVERED), key }, accountId, { snapshot, event })
    await Promise.all([record(twice, 1), record(twice, 2)])
    expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'queued' })
    await record(other, 3)
    expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'dispatched' })
    expect(event.isDispatched).toBe(true)
  })

  it.each<[string, (db: Tx, endpoint: Endpoint) => Promise<unknown>]>([
    [
      'its deletion',
      async (tx, { accountId }) => {
        await closeAccount(tx, accountId)
        while ((await deleteAccountEvents(tx, accountId, 2)) > 0);
        await deleteAccountEndpoints(tx, accountId)
      },
    ],
    ['the deletion of its event', (tx, { accountId }) => deleteAccountEvents(tx, accountId, 10)],
  ])('leaves no row of an account behind after %s', async (_what, remove) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(endpoint.accountId))
    await behindLock(
      db,
      (tx) => remove(tx, endpoint),
      1,
      () => recordFirstAttempts(db, [resultOf(snapshot, retry())], [snapshot.eventId]),
    )
    await writeDeliveries(db, [snapshot], NOW)
    const { rows } = await db.query(
      `select id::text from webhook_deliveries where id = $1
       union all select delivery_id::text from webhook_attempts where delivery_id = $1
       union all select event_id from webhook_first_attempts where event_id = $2`,
      [snapshot.id, snapshot.eventId],
    )
    expect(rows).toEqual([])
  })

  it.each<[string, (accountId: string) => Promise<unknown>]>([
    ['closes', (accountId) => closeAccount(database.db, accountId)],
    [
      'deletes',
      async (accountId) => {
        while ((await deleteAccountEvents(database.db, accountId, 10)) > 0);
      },
    ],
  ])('never waits for a statement that waits for it and %s its account', async (what, act) => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const snapshots = (await snapshotsFor(accountId, 3)).sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
    if (what === 'deletes') await closeAccount(db, accountId)
    const middle = snapshots[1] as DeliverySnapshot
    await behindLock(
      db,
      (tx) => tx.query(`select from webhook_events where id = $1 for update`, [middle.eventId]),
      2,
      () =>
        Promise.all([
          recordFirstAttempts(
            db,
            snapshots.map((snapshot) => resultOf(snapshot, retry())),
            snapshots.map(({ eventId }) => eventId),
          ),
          act(accountId),
        ]),
    )
    while ((await deleteAccountEvents(db, accountId, 10)) > 0);
    expect(await rowsOf(accountId)).toEqual([])
  })

  it.each<[string, string, (endpoint: Endpoint) => Promise<unknown>]>([
    ['an endpoint', 'endpoint_deleted', ({ accountId, id }) => deleteEndpoint(database.db, accountId, id)],
    [
      'a recording',
      'recording_deleted',
      ({ accountId }) => purgeRecording(database.db, { accountId, audioId: 'rec_1001' }),
    ],
  ])('leaves nothing pending that was written while %s was being deleted', async (_what, reason, act) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(endpoint.accountId))
    await behindLock(
      db,
      (tx) => recordFirstAttempts(tx, [resultOf(snapshot, retry())], [snapshot.eventId]),
      1,
      () => act(endpoint),
    )
    expect(await rowsOf(endpoint.accountId)).toMatchObject([{ status: 2, last_error: reason }])
  })

  it('neither deadlocks with purges, deletions and results of later attempts, nor loses a count', async () => {
    const { db } = database
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => anEndpoint(db)))
    const byEndpoint = await Promise.all(
      endpoints.map(({ accountId }, i) => snapshotsFor(accountId, 30, i === 1 ? 'rec_purged' : undefined)),
    )
    const [closed, purged, deleted, ...others] = endpoints as [Endpoint, Endpoint, Endpoint, ...Endpoint[]]
    const batches = Array.from({ length: 30 }, (_, i) => {
      const batch = byEndpoint.map((snapshots) => snapshots[i] as DeliverySnapshot)
      return i % 2 ? batch.reverse() : batch
    })
    const close = async () => {
      await closeAccount(db, closed.accountId)
      while ((await deleteAccountEvents(db, closed.accountId, 5)) > 0);
      await deleteAccountEndpoints(db, closed.accountId)
    }
    const retryWhileUnavailable: RetryWhileUnavailable = (work) => work()
    const observer = { cancellingFailed: fail }
    const canceller = new BacklogCanceller({ db, retryWhileUnavailable, observer, pageSize: 7 })
    const onDisabled = (id: EndpointId) => canceller.request(id)
    const recorders = Array.from({ length: 6 }, () => aRecorder(db, { onDisabled }))
    await Promise.all([
      ...batches.flatMap((snapshots, i) =>
        snapshots.map(async (snapshot) => {
          const event = new UnwrittenEvent(snapshot.eventId, [snapshot], (all) => storeRows(db, all))
          const written = i % 3 === 0 ? event.write() : undefined
          await recorders[i % recorders.length]?.record(
            resultOf(snapshot, retry()),
            snapshot.endpoint.accountId,
            {
              snapshot,
              event,
            },
          )
          await written
        }),
      ),
      close(),
      purgeRecording(db, { accountId: purged.accountId, audioId: 'rec_purged' }),
      deleteEndpoint(db, deleted.accountId, deleted.id),
    ])
    await canceller.finished()
    for (const { id } of others)
      expect(await endpointState(db, id)).toMatchObject({ status: 2, consecutive_failures: 30 })
    const { rows } = await db.query(
      `select id from webhook_deliveries where status = 0 and endpoint_id = any ($1)`,
      [others.map(({ id }) => id)],
    )
    expect(rows).toEqual([])
    expect(await rowsOf(closed.accountId)).toEqual([])
  })
})
