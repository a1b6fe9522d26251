import { describe, expect, it } from '@jest/globals'
import { type Tx } from '@signet/db'
import {
  cancelDelivery,
  deleteEndpoint,
  FAILURES_TO_DISABLE,
  findAttemptPlans,
  listAttempts,
  patchEndpoint,
  purgeRecording,
  recordAttempts,
  type AttemptResult,
  type DeliveryId,
  type Endpoint,
} from '../src/index.js'
import { behindLock } from './support/behind-lock.js'
import { useDatabase } from './support/database.js'
import {
  aResult,
  anEndpoint,
  deliveryState,
  endpointState,
  later,
  NOW,
  pendingDeliveries,
  retry,
  type TestDelivery,
} from './support/fixtures.js'

const database = useDatabase()

async function withDeliveries(count: number): Promise<{ endpoint: Endpoint; deliveries: TestDelivery[] }> {
  const endpoint = await anEndpoint(database.db)
  return { endpoint, deliveries: await pendingDeliveries(database.db, endpoint, count) }
}

const first = (deliveries: TestDelivery[]): TestDelivery => {
  const [delivery] = deliveries
  if (!delivery) throw new Error('a delivery')
  return delivery
}

const setFailures = (endpoint: Endpoint, failures: number) =>
  database.db.query(`update webhook_endpoints set consecutive_failures = $2 where id = $1`, [
    endpoint.id,
    failures,
  ])

const record = (...results: AttemptResult[]) => recordAttempts(database.db, results)

describe('recordAttempts', () => {
  it('makes a delivery delivered, with its time, and keeps its latest failure for the log', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(aResult(delivery, retry('http_503'), { httpStatus: 503 }))
    expect(await deliveryState(database.db, delivery.id)).toEqual({
      status: 0,
      attempts: 1,
      last_error: 'http_503',
      next_attempt_at: later(60_040),
      delivered_at: null,
    })
    const second = { number: 2, startedAt: later(60_100), finishedAt: later(60_350), httpStatus: 204 }
    expect(await record(aResult(delivery, { kind: 'delivered' }, second))).toEqual([
      {
        deliveryId: delivery.id,
        status: 1,
        nextAttemptAt: null,
        lastError: 'http_503',
        attempts: 2,
        disabledEndpoint: false,
      },
    ])
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      status: 1,
      attempts: 2,
      last_error: 'http_503',
      delivered_at: later(60_350),
    })
    expect(await listAttempts(database.db, delivery.id)).toEqual([
      { number: 1, startedAt: NOW, durationMs: 40, httpStatus: 503, error: 'http_503', urlVersion: 1 },
      { number: 2, startedAt: later(60_100), durationMs: 250, httpStatus: 204, error: '', urlVersion: 1 },
    ])
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(0)
  })

  it('ends a delivery when no attempt is left', async () => {
    const { deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(aResult(delivery, { kind: 'over', error: 'timeout' }, { number: 6 }))
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      status: 2,
      attempts: 6,
      last_error: 'timeout',
      next_attempt_at: null,
    })
  })

  it('moves updated_at forward on every attempt, failed or not', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    const seen = [(await endpointState(database.db, endpoint.id)).updated_at.getTime()]
    for (const [i, outcome] of [retry(), { kind: 'delivered' } as const].entries()) {
      await record(aResult(delivery, outcome, { number: i + 1 }))
      seen.push((await endpointState(database.db, endpoint.id)).updated_at.getTime())
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    expect(seen[2]).toBeGreaterThan(seen[0] ?? Infinity)
  })

  it('counts every one of many simultaneous failures and disables exactly once, at the 20th', async () => {
    const { endpoint, deliveries } = await withDeliveries(FAILURES_TO_DISABLE)
    const recorded = await Promise.all(deliveries.map((delivery) => record(aResult(delivery, retry()))))
    expect(recorded.flat().filter(({ disabledEndpoint }) => disabledEndpoint)).toHaveLength(1)
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 2,
      consecutive_failures: 20,
    })
    const states = await Promise.all(deliveries.map(({ id }) => deliveryState(database.db, id)))
    // All ended with one attempt: the 20th with its own failure, those rescheduled before it were cancelled.
    expect(states.map(({ status, attempts }) => [status, attempts])).toEqual(states.map(() => [2, 1]))
    expect(states.filter(({ last_error }) => last_error === 'http_500')).toHaveLength(1)
    expect(states.filter(({ last_error }) => last_error === 'endpoint_disabled')).toHaveLength(19)
  })

  it('leaves an endpoint with 19 failures alone, and one success sets the count to 0', async () => {
    const { endpoint, deliveries } = await withDeliveries(20)
    await Promise.all(deliveries.slice(0, 19).map((delivery) => record(aResult(delivery, retry()))))
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 1,
      consecutive_failures: 19,
    })
    await record(aResult(deliveries[19] as TestDelivery, { kind: 'delivered' }))
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 1,
      consecutive_failures: 0,
    })
  })

  it('judges the results of one batch in their order, as if each had come alone', async () => {
    const { endpoint, deliveries } = await withDeliveries(6)
    await setFailures(endpoint, 18)
    const outcomes = [retry(), { kind: 'delivered' } as const, retry(), retry()]
    await record(...outcomes.map((outcome, i) => aResult(deliveries[i] as TestDelivery, outcome)))
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 1,
      consecutive_failures: 2,
    })

    await setFailures(endpoint, 19)
    const recorded = await record(
      aResult(deliveries[4] as TestDelivery, retry('timeout')),
      aResult(deliveries[5] as TestDelivery, { kind: 'delivered' }),
    )
    // Disabled by the first; the success behind it resets the count and does not re-enable.
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 2,
      consecutive_failures: 0,
    })
    expect(recorded.every(({ disabledEndpoint }) => disabledEndpoint)).toBe(true)
  })

  it('plays the worked example: four events at a receiver that always fails', async () => {
    const { endpoint, deliveries } = await withDeliveries(4)
    for (let number = 1; number <= 5; number += 1) {
      await Promise.all(deliveries.map((delivery) => record(aResult(delivery, retry(), { number }))))
    }
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 2,
      consecutive_failures: 20,
    })
    const states = await Promise.all(deliveries.map(({ id }) => deliveryState(database.db, id)))
    expect(states.map(({ status, attempts }) => [status, attempts])).toEqual(states.map(() => [2, 5]))
    const errors = states.map(({ last_error }) => last_error).sort()
    expect(errors).toEqual(['endpoint_disabled', 'endpoint_disabled', 'endpoint_disabled', 'http_500'])
  })

  it('shows the same in one batch: the 20th its failure, those before it endpoint_disabled, those after it theirs', async () => {
    const { endpoint, deliveries } = await withDeliveries(4)
    await setFailures(endpoint, 18)
    await record(...deliveries.map((delivery, i) => aResult(delivery, retry(`http_${500 + i}`))))
    const states = await Promise.all(deliveries.map(({ id }) => deliveryState(database.db, id)))
    expect(states.map(({ last_error }) => last_error)).toEqual([
      'endpoint_disabled',
      'http_501',
      'http_502',
      'http_503',
    ])
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(22)
  })

  it('cancels everything else that is pending for the endpoint, and nothing of others', async () => {
    const { endpoint, deliveries } = await withDeliveries(5)
    const other = await withDeliveries(1)
    await setFailures(endpoint, 19)
    await record(aResult(first(deliveries), retry()))
    for (const { id } of deliveries.slice(1)) {
      expect(await deliveryState(database.db, id)).toMatchObject({
        status: 2,
        attempts: 0,
        last_error: 'endpoint_disabled',
      })
    }
    expect((await deliveryState(database.db, first(other.deliveries).id)).status).toBe(0)
  })

  describe('an attempt in flight while its delivery is cancelled', () => {
    const cancelledInFlight = async () => {
      const { endpoint, deliveries } = await withDeliveries(2)
      const [inFlight, last] = deliveries as [TestDelivery, TestDelivery]
      await setFailures(endpoint, 19)
      await record(aResult(last, retry()))
      return { endpoint, inFlight }
    }

    it('makes it delivered on success and resets the count, but does not re-enable', async () => {
      const { endpoint, inFlight } = await cancelledInFlight()
      await record(aResult(inFlight, { kind: 'delivered' }))
      expect(await deliveryState(database.db, inFlight.id)).toMatchObject({ status: 1, attempts: 1 })
      expect(await endpointState(database.db, endpoint.id)).toMatchObject({
        status: 2,
        consecutive_failures: 0,
      })
    })

    it('shows its own failure instead of endpoint_disabled', async () => {
      const { endpoint, inFlight } = await cancelledInFlight()
      await record(aResult(inFlight, retry('timeout')))
      expect(await deliveryState(database.db, inFlight.id)).toMatchObject({
        status: 2,
        attempts: 1,
        last_error: 'timeout',
        next_attempt_at: null,
      })
      expect((await endpointState(database.db, endpoint.id)).status).toBe(2)
    })

    it('keeps the reason when the endpoint was deleted, and counts the attempt', async () => {
      const { endpoint, deliveries } = await withDeliveries(1)
      await deleteEndpoint(database.db, endpoint.accountId, endpoint.id)
      await record(aResult(first(deliveries), retry('timeout')))
      expect(await deliveryState(database.db, first(deliveries).id)).toMatchObject({
        status: 2,
        attempts: 1,
        last_error: 'endpoint_deleted',
      })
    })
  })

  it('does not hold a failure of an older url, or of our own, against the endpoint, but tries again', async () => {
    const { endpoint, deliveries } = await withDeliveries(3)
    const url = { url: 'https://new.example.com/', href: 'https://new.example.com/' }
    await patchEndpoint(database.db, endpoint.accountId, endpoint.id, { url, events: ['summary.completed'] })
    await setFailures(endpoint, 19)
    const [old, internal, current] = deliveries as [TestDelivery, TestDelivery, TestDelivery]
    await record(
      aResult(old, retry(), { urlVersion: 1 }),
      aResult(internal, retry('internal_error'), { urlVersion: 2 }),
    )
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 1,
      consecutive_failures: 19,
    })
    expect(await deliveryState(database.db, old.id)).toMatchObject({ status: 0, attempts: 1 })
    expect(await deliveryState(database.db, internal.id)).toMatchObject({ status: 0, attempts: 1 })
    await record(aResult(current, retry(), { urlVersion: 2 }))
    expect((await endpointState(database.db, endpoint.id)).status).toBe(2)
  })

  const lockEndpoint = (endpoint: Endpoint) => (tx: Tx) =>
    tx.query(`select id from webhook_endpoints where id = $1 for update`, [endpoint.id])

  it('takes the same attempt reported by many workers at once as one', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await behindLock(database.db, lockEndpoint(endpoint), 8, () =>
      Promise.all(Array.from({ length: 8 }, () => record(aResult(delivery, retry())))),
    )
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({ status: 0, attempts: 1 })
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(1)
    expect(await listAttempts(database.db, delivery.id)).toHaveLength(1)
    // A late one learns how it stands, and changes nothing even if it would have been the last.
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
    // Written anew from the highest id down, so that whatever plan the purge has, it meets them in that order.
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

  it('lets a success win over a failure of the same attempt, in either order', async () => {
    const { deliveries } = await withDeliveries(2)
    const [a, b] = deliveries as [TestDelivery, TestDelivery]
    await record(aResult(a, { kind: 'delivered' }))
    await record(aResult(a, retry()))
    await record(aResult(b, retry()))
    await record(aResult(b, { kind: 'delivered' }))
    for (const { id } of [a, b]) {
      expect(await deliveryState(database.db, id)).toMatchObject({
        status: 1,
        attempts: 1,
        next_attempt_at: null,
      })
    }
  })

  it('skips deliveries that are gone and refuses two results for one', async () => {
    const { deliveries } = await withDeliveries(2)
    const [kept, gone] = deliveries as [TestDelivery, TestDelivery]
    await database.db.query(`delete from webhook_deliveries where id = $1`, [gone.id])
    const recorded = await record(aResult(gone, retry()), aResult(kept, { kind: 'delivered' }))
    expect(recorded.map(({ deliveryId }) => deliveryId)).toEqual([kept.id])
    await expect(record(aResult(kept, retry()), aResult(kept, retry()))).rejects.toThrow(RangeError)
    expect(await record()).toEqual([])
  })

  it('neither deadlocks nor loses a count under batches, disabling, deleting and purging all at once', async () => {
    const { db } = database
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => anEndpoint(db)))
    const byEndpoint = await Promise.all(endpoints.map((endpoint) => pendingDeliveries(db, endpoint, 30)))
    const [deleted, purged, ...others] = endpoints as [Endpoint, Endpoint, ...Endpoint[]]
    // Every batch holds one delivery of each endpoint, in ever other orders.
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

describe('findAttemptPlans', () => {
  it('reads what an attempt needs, and what speaks against it', async () => {
    const { db } = database
    const { endpoint, deliveries } = await withDeliveries(2)
    const [pending, cancelled] = deliveries as [TestDelivery, TestDelivery]
    expect(await cancelDelivery(db, cancelled.id, 'recording_deleted')).toBe(true)
    expect(await cancelDelivery(db, cancelled.id, 'endpoint_deleted')).toBe(false)
    const plans = await findAttemptPlans(db, [pending.id, cancelled.id])
    expect(plans.find(({ id }) => id === cancelled.id)?.status).toBe(2)
    expect(plans.find(({ id }) => id === pending.id)).toEqual({
      id: pending.id,
      eventId: pending.eventId,
      eventType: 'summary.completed',
      status: 0,
      attempts: 0,
      createdAt: expect.any(Date),
      nextAttemptAt: NOW,
      eventState: 'dispatched',
      endpoint: {
        id: endpoint.id,
        accountId: endpoint.accountId,
        url: endpoint.url,
        urlVersion: 1,
        status: 1,
        deleted: false,
        secret: { keyId: 'k1', ciphertext: Buffer.from(`sealed for ${endpoint.id}`) },
      },
    })
    await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    expect((await findAttemptPlans(db, [pending.id]))[0]?.endpoint).toMatchObject({
      deleted: true,
      secret: null,
    })
  })
})
