import { describe, expect, it } from '@jest/globals'
import type { Endpoint } from '@signet/webhook-core/stores'
import { deleteEndpoint } from '@signet/webhook-core/stores'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { attemptsIn } from '../support/attempts.js'
import { aResult, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const { record, setFailures, withDeliveries } = attemptsIn(database)

type Warning = { threshold: number; failures: number; last_error: string; due: boolean }

async function warningsOf(endpoint: Endpoint): Promise<Warning[]> {
  const { rows } = await database.db.query<Warning>(
    `select threshold, failures, last_error, next_attempt_at <= clock_timestamp() as due
       from webhook_endpoint_warnings where endpoint_id = $1 order by created_at, threshold`,
    [endpoint.id],
  )
  return rows
}

const thresholds = async (endpoint: Endpoint) =>
  (await warningsOf(endpoint)).map(({ threshold }) => threshold)

const failing = (deliveries: readonly TestDelivery[], error: 'http_500' | 'timeout' = 'http_500') =>
  deliveries.map((delivery) => aResult(delivery, retry(error)))

describe('recordAttempts warns the owner of an endpoint', () => {
  it('at 10 and 15 failures in a row, and when it disables it', async () => {
    const { endpoint, deliveries } = await withDeliveries(20)
    const seen: number[][] = []
    for (const result of failing(deliveries, 'timeout')) {
      await record(result)
      seen.push(await thresholds(endpoint))
    }
    expect(seen.map((now) => now.join()).filter((now, i, all) => now !== all[i - 1])).toEqual([
      '',
      '10',
      '10,15',
      '10,15,20',
    ])
    expect(seen.findIndex((now) => now.length === 1)).toBe(9)
    expect((await warningsOf(endpoint))[0]).toEqual({
      threshold: 10,
      failures: 10,
      last_error: 'timeout',
      due: true,
    })
  })

  it('once for each of many simultaneous failures', async () => {
    const { endpoint, deliveries } = await withDeliveries(20)
    await Promise.all(failing(deliveries).map((result) => record(result)))
    expect(await thresholds(endpoint)).toEqual([10, 15, 20])
  })

  it('once a day, however often it recovers', async () => {
    const { endpoint, deliveries } = await withDeliveries(4)
    const [first, success, second, third] = deliveries as [
      TestDelivery,
      TestDelivery,
      TestDelivery,
      TestDelivery,
    ]
    await setFailures(endpoint, 9)
    await record(aResult(first, retry()))
    await record(aResult(success, { kind: 'delivered' }))
    await setFailures(endpoint, 9)
    await record(aResult(second, retry()))
    expect(await thresholds(endpoint)).toEqual([10])
    await database.db.query('update webhook_endpoint_warnings set day = day - 1 where endpoint_id = $1', [
      endpoint.id,
    ])
    await setFailures(endpoint, 9)
    await record(aResult(third, retry()))
    expect(await thresholds(endpoint)).toEqual([10, 10])
  })

  it('only of the highest threshold that one batch reaches', async () => {
    const { endpoint, deliveries } = await withDeliveries(17)
    await record(...failing(deliveries))
    expect(await warningsOf(endpoint)).toMatchObject([{ threshold: 15, failures: 17 }])
    const disabled = await withDeliveries(20)
    await record(...failing(disabled.deliveries))
    expect(await thresholds(disabled.endpoint)).toEqual([20])
  })

  it('not when the batch ends its failures, and from 0 after that', async () => {
    const { endpoint, deliveries } = await withDeliveries(14)
    const [failed, success, ...later] = deliveries as [TestDelivery, TestDelivery, ...TestDelivery[]]
    await setFailures(endpoint, 9)
    await record(aResult(failed, retry()), aResult(success, { kind: 'delivered' }))
    expect(await thresholds(endpoint)).toEqual([])
    await setFailures(endpoint, 12)
    const again = await withDeliveries(1)
    await record(...failing(again.deliveries), ...failing(later.slice(0, 1)))
    expect(await thresholds(endpoint)).toEqual([])
    expect(await thresholds(again.endpoint)).toEqual([])
  })

  it('not for failures of ours, of an earlier url, or of an endpoint that is disabled or deleted', async () => {
    const ours = await withDeliveries(1)
    await setFailures(ours.endpoint, 9)
    await record(...ours.deliveries.map((delivery) => aResult(delivery, retry('internal_error'))))

    const moved = await withDeliveries(1)
    await setFailures(moved.endpoint, 9)
    await record(...failing(moved.deliveries).map((result) => ({ ...result, urlVersion: 0 })))

    const disabled = await withDeliveries(1)
    await database.db.query(
      `update webhook_endpoints set status = 2, disabled_at = now(), consecutive_failures = 14 where id = $1`,
      [disabled.endpoint.id],
    )
    await record(...failing(disabled.deliveries))

    const deleted = await withDeliveries(1)
    await setFailures(deleted.endpoint, 14)
    await database.db.transaction((tx) => deleteEndpoint(tx, deleted.endpoint.accountId, deleted.endpoint.id))
    await record(...failing(deleted.deliveries))

    for (const { endpoint } of [ours, moved, disabled, deleted])
      expect(await thresholds(endpoint)).toEqual([])
  })
})
