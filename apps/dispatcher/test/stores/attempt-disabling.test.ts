import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { deliveryState, endpointState } from '@signet/webhook-testkit'
import { FAILURES_TO_DISABLE } from '@signet/webhook-core'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { deleteEndpoint, patchEndpoint } from '@signet/webhook-core/stores'
import { attemptsIn, first } from '../support/attempts.js'
import { aResult, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const { record, setFailures, withDeliveries } = attemptsIn(database)

describe('recordAttempts counts failures', () => {
  it('counts every one of many simultaneous failures and disables exactly once, at the 20th', async () => {
    const { endpoint, deliveries } = await withDeliveries(FAILURES_TO_DISABLE)
    const recorded = await Promise.all(deliveries.map((delivery) => record(aResult(delivery, retry()))))
    expect(recorded.flat().filter(({ disabledEndpoint }) => disabledEndpoint)).toHaveLength(1)
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 2,
      consecutive_failures: 20,
    })
    const states = await Promise.all(deliveries.map(({ id }) => deliveryState(database.db, id)))
    // All ended after one attempt: the 20th with its own failure; those that were rescheduled before it were cancelled.
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

  it('evaluates the results of one batch in their order, as if each had come alone', async () => {
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
    // The first result disables the endpoint; the success behind it resets the count and does not re-enable the endpoint.
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

  it('disables without looking at what else is pending for the endpoint, however much that is', async () => {
    const { endpoint, deliveries } = await withDeliveries(3)
    const [last, other] = deliveries as [TestDelivery, TestDelivery]
    await setFailures(endpoint, 19)
    await database.db.transaction(async (holder) => {
      await holder.query(`select from webhook_deliveries where id = $1 for update`, [other.id])
      await database.db.transaction(async (tx) => {
        // A statement that needed the other delivery would fail here; without the timeout, it would wait for this test.
        await tx.query(`set local lock_timeout = '100ms'`)
        expect(await recordAttempts(tx, [aResult(last, retry())])).toMatchObject([{ disabledEndpoint: true }])
      })
    })
    expect((await endpointState(database.db, endpoint.id)).status).toBe(2)
    expect((await deliveryState(database.db, other.id)).status).toBe(0)
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
})
