import { describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { behindLock, anEndpoint, deliveryState, endpointState, later } from '@signet/webhook-testkit'
import type { DeliveryId } from '@signet/webhook-core'
import { deleteEndpoint, purgeRecording, type Endpoint } from '@signet/webhook-core/stores'
import { listAttempts, recordAttempts } from '../../src/deliveries/attempt-store.js'
import { cancelDelivery } from '../../src/deliveries/delivery-store.js'
import { attemptsIn, first } from '../support/attempts.js'
import { aResult, pendingDeliveries, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const { record, setFailures, withDeliveries } = attemptsIn(database)

const lockEndpoint = (endpoint: Endpoint) => (tx: Tx) =>
  tx.query(`select id from webhook_endpoints where id = $1 for update`, [endpoint.id])

describe('recordAttempts among others', () => {
  it('takes the same attempt reported by many workers at once as one', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await behindLock(database.db, lockEndpoint(endpoint), 8, () =>
      Promise.all(Array.from({ length: 8 }, () => record(aResult(delivery, retry())))),
    )
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({ status: 0, attempts: 1 })
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(1)
    expect(await listAttempts(database.db, [delivery.id])).toHaveLength(1)
    // A late result is answered with the current state, and changes nothing even if it would have been the last.
    const [again] = await record(aResult(delivery, { kind: 'over', error: 'timeout' }))
    expect(again).toMatchObject({
      status: 0,
      attempts: 1,
      nextAttemptAt: later(60_040),
      lastError: 'http_500',
    })
  })

  it('brings no delivery back to life that was cancelled while its result waited', async () => {
    const { endpoint, deliveries } = await withDeliveries(2)
    const [inFlight, last] = deliveries as [TestDelivery, TestDelivery]
    await setFailures(endpoint, 19)
    await behindLock(
      database.db,
      // Disables the endpoint and cancels `inFlight`, while the result below waits with its older view of both.
      (tx) => recordAttempts(tx, [aResult(last, retry())]),
      1,
      () => record(aResult(inFlight, retry('timeout'))),
    )
    expect(await deliveryState(database.db, inFlight.id)).toMatchObject({ status: 2, last_error: 'timeout' })
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 2,
      consecutive_failures: 21,
    })
  })

  it('does not overwrite what cancelled a single delivery while its result waited', async () => {
    const { deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await behindLock(
      database.db,
      (tx) => cancelDelivery(tx, delivery.id, 'recording_deleted'),
      1,
      () => record(aResult(delivery, retry())),
    )
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      status: 2,
      last_error: 'recording_deleted',
      attempts: 1,
    })
  })

  it('never waits for a purge that waits for it', async () => {
    const { db } = database
    const { endpoint, deliveries } = await withDeliveries(3)
    const ids = deliveries.map(({ id }) => id).sort((a, b) => Number(b) - Number(a))
    // Rewrites the rows from the highest id down, so that the purge meets them in that order with any plan.
    for (const [i, id] of ids.entries()) {
      await db.query(`update webhook_deliveries set next_attempt_at = $2 where id = $1`, [id, later(i)])
    }
    const middle = ids[1] as DeliveryId
    await behindLock(
      db,
      (tx) => tx.query(`select id from webhook_deliveries where id = $1 for update`, [middle]),
      2,
      () =>
        Promise.all([
          record(...deliveries.map((delivery) => aResult(delivery, retry()))),
          purgeRecording(db, { accountId: endpoint.accountId, audioId: 'rec_1001' }),
        ]),
    )
    for (const id of ids) {
      expect(await deliveryState(db, id)).toMatchObject({ status: 2, last_error: 'recording_deleted' })
    }
  })

  it('neither deadlocks nor loses a count under batches, disabling, deleting and purging all at once', async () => {
    const { db } = database
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => anEndpoint(db)))
    const byEndpoint = await Promise.all(endpoints.map((endpoint) => pendingDeliveries(db, endpoint, 30)))
    const [deleted, purged, ...others] = endpoints as [Endpoint, Endpoint, ...Endpoint[]]
    // Every batch has one delivery of each endpoint, always in a different order.
    const batches = Array.from({ length: 30 }, (_, i) => {
      const batch = byEndpoint.flatMap((list) => aResult(list[i] as TestDelivery, retry()))
      return i % 2 ? batch.reverse() : batch
    })
    await Promise.all([
      ...batches.map((batch) => record(...batch)),
      deleteEndpoint(db, deleted.accountId, deleted.id),
      purgeRecording(db, { accountId: purged.accountId, audioId: 'rec_1001' }),
    ])
    for (const { id } of others) {
      expect(await endpointState(db, id)).toMatchObject({ status: 2, consecutive_failures: 30 })
    }
    const { rows } = await db.query(
      `select id from webhook_deliveries where status = 0 and endpoint_id = any ($1)`,
      [endpoints.map(({ id }) => id)],
    )
    expect(rows).toEqual([])
  })
})
