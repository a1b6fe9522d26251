import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { behindLock, anEndpoint, deliveryState, later, NOW } from '@signet/webhook-testkit'
import { purgeRecording } from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { replayDeliveries } from '../../src/operations/replay-store.js'
import { aResult, pendingDeliveries, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const request = { operator: 'sre@example.com', reason: 'receiver was down', now: later(1000), limit: 100 }
const over = { kind: 'over', error: 'http_500' } as const

describe('replayDeliveries', () => {
  it('makes a new delivery of the same event, leaves the old one alone and writes down who asked', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [failed] = (await pendingDeliveries(db, endpoint, 1)) as [TestDelivery]
    await recordAttempts(db, [aResult(failed, over, { number: 6 })])
    const before = await deliveryState(db, failed.id)

    const [made] = await replayDeliveries(db, { ...request, deliveryId: failed.id })
    if (!made) throw new Error('a delivery')
    expect(await deliveryState(db, made.id)).toMatchObject({
      status: 0,
      attempts: 0,
      next_attempt_at: later(1000),
    })
    expect(await deliveryState(db, failed.id)).toEqual(before)
    const { rows } = await db.query(
      `select operator, action, detail from operator_actions where detail @> $1`,
      [JSON.stringify({ deliveries: [{ id: made.id }] })],
    )
    expect(rows).toEqual([
      {
        operator: 'sre@example.com',
        action: 'replay',
        detail: {
          reason: 'receiver was down',
          deliveries: [{ id: made.id, endpoint_id: endpoint.id, event_id: failed.eventId }],
        },
      },
    ])
  })

  it('replays all that failed for an endpoint since a time, each event once', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [a, b, delivered, pending] = await pendingDeliveries(db, endpoint, 4)
    if (!a || !b || !delivered || !pending) throw new Error('four deliveries')
    await recordAttempts(db, [
      aResult(a, over, { number: 6 }),
      aResult(b, over, { number: 6 }),
      aResult(delivered, { kind: 'delivered' }),
      aResult(pending, retry()),
    ])
    const since = { ...request, endpointId: endpoint.id, failedSince: new Date(Date.now() - 60_000) }
    expect(await replayDeliveries(db, { ...since, failedSince: new Date(Date.now() + 60_000) })).toEqual([])
    expect(await replayDeliveries(db, { ...since, limit: 1 })).toHaveLength(1)
    expect(await replayDeliveries(db, since)).toHaveLength(1)
    // Both are pending now.
    expect(await replayDeliveries(db, since)).toEqual([])
  })

  it('makes one new delivery for many simultaneous requests', async () => {
    const { db } = database
    const [failed] = (await pendingDeliveries(db, await anEndpoint(db), 1)) as [TestDelivery]
    await recordAttempts(db, [aResult(failed, over, { number: 6 })])
    const since = { ...request, endpointId: failed.endpointId, failedSince: new Date(0) }
    const made = await behindLock(
      db,
      (tx) => replayDeliveries(tx, since),
      4,
      () => Promise.all(Array.from({ length: 4 }, () => replayDeliveries(db, since))),
    )
    expect(made.flat()).toEqual([])
    const { rows } = await db.query(`select id from webhook_deliveries where event_id = $1`, [failed.eventId])
    expect(rows).toHaveLength(2)
  })

  it('leaves out endpoints that are not active and events without a body', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [failed] = (await pendingDeliveries(db, endpoint, 1)) as [TestDelivery]
    await recordAttempts(db, [aResult(failed, over, { number: 6 })])
    const again = () => replayDeliveries(db, { ...request, deliveryId: failed.id })
    await db.query(`update webhook_endpoints set status = 2, disabled_at = now() where id = $1`, [
      endpoint.id,
    ])
    expect(await again()).toEqual([])
    await db.query(`update webhook_endpoints set status = 1, disabled_at = null where id = $1`, [endpoint.id])
    await purgeRecording(db, { accountId: endpoint.accountId, audioId: 'rec_1001' })
    expect(await again()).toEqual([])
    expect((await deliveryState(db, failed.id)).next_attempt_at).not.toEqual(NOW)
  })
})
