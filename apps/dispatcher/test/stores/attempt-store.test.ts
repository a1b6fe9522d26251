import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { deliveryState, endpointState, later, NOW } from '@signet/webhook-testkit'
import { deleteEndpoint } from '@signet/webhook-core/stores'
import { listAttempts } from '../../src/deliveries/attempt-store.js'
import { cancelDelivery, findDeliverySnapshots } from '../../src/deliveries/delivery-store.js'
import { attemptsIn, first } from '../support/attempts.js'
import { aResult, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const { record, withDeliveries } = attemptsIn(database)

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
        isRepeated: false,
      },
    ])
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      status: 1,
      attempts: 2,
      last_error: 'http_503',
      delivered_at: later(60_350),
    })
    const unknown = { deliveryId: delivery.id, urlVersion: 1, facts: {}, answer: '' }
    expect(await listAttempts(database.db, [delivery.id])).toEqual([
      { ...unknown, number: 1, startedAt: NOW, durationMs: 40, httpStatus: 503, error: 'http_503' },
      { ...unknown, number: 2, startedAt: later(60_100), durationMs: 250, httpStatus: 204, error: '' },
    ])
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(0)
  })

  it('takes an attempt that began longer ago than its column can tell', async () => {
    const { deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(aResult(delivery, retry('timeout'), { startedAt: new Date(0), finishedAt: later(1000) }))
    expect(await listAttempts(database.db, [delivery.id])).toMatchObject([{ durationMs: 2 ** 31 - 1 }])
  })

  it('knows no duration of an interrupted attempt: its end was noticed much later', async () => {
    const { deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(aResult(delivery, retry('interrupted'), { startedAt: NOW, finishedAt: later(30_000) }))
    expect(await listAttempts(database.db, [delivery.id])).toMatchObject([{ startedAt: NOW, durationMs: 0 }])
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
})

describe('findDeliverySnapshots', () => {
  it('reads what an attempt needs, and what speaks against it', async () => {
    const { db } = database
    const { endpoint, deliveries } = await withDeliveries(2)
    const [pending, cancelled] = deliveries as [TestDelivery, TestDelivery]
    expect(await cancelDelivery(db, cancelled.id, 'recording_deleted')).toBe(true)
    expect(await cancelDelivery(db, cancelled.id, 'endpoint_deleted')).toBe(false)
    const snapshots = await findDeliverySnapshots(db, [pending.id, cancelled.id])
    expect(snapshots.find(({ id }) => id === cancelled.id)?.status).toBe(2)
    expect(snapshots.find(({ id }) => id === pending.id)).toEqual({
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
        heldUntil: null,
        nextSecret: null,
        secret: { keyId: 'k1', ciphertext: Buffer.from(`sealed for ${endpoint.id}`) },
      },
    })
    await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    expect((await findDeliverySnapshots(db, [pending.id]))[0]?.endpoint).toMatchObject({
      deleted: true,
      secret: null,
    })
  })
})
