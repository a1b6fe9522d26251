import { describe, expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { lockWaiters } from '@signet/testkit'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, behindLock, deliveryState, later, NOW } from '@signet/webhook-testkit'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'
import {
  cancelBacklog,
  deleteEndpoint,
  enableEndpoint,
  purgeRecording,
  type Endpoint,
} from '@signet/webhook-core/stores'
import { BacklogCanceller } from '../../src/attempts/backlog-canceller.js'
import { findEndedWithBacklog } from '../../src/deliveries/cancel-store.js'
import { openDeliveries, pendingDeliveries, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()

async function disabled(
  count: number,
  make = pendingDeliveries,
): Promise<{ endpoint: Endpoint; deliveries: TestDelivery[] }> {
  const endpoint = await anEndpoint(database.db)
  const deliveries = await make(database.db, endpoint, count)
  await database.db.query(`update webhook_endpoints set status = 2, disabled_at = $2 where id = $1`, [
    endpoint.id,
    NOW,
  ])
  return { endpoint, deliveries }
}

/** Cancels two deliveries per page. `before` runs before each statement, with the number of statements so far. */
function cancelling(before: (page: number) => Promise<unknown> = () => Promise.resolve()) {
  const pages: EndpointId[] = []
  const failures: EndpointId[] = []
  const db: Queryable = {
    async query(text, values = []) {
      await before(pages.length)
      pages.push(values[0] as EndpointId)
      return database.db.query(text, values)
    },
  }
  const canceller = new BacklogCanceller({
    db,
    retryWhileUnavailable: (work) => work(),
    observer: { cancellingFailed: (id) => failures.push(id) },
    pageSize: 2,
  })
  return { canceller, pages, failures }
}

const statesOf = async (deliveries: readonly TestDelivery[]) => {
  const states = await Promise.all(deliveries.map(({ id }) => deliveryState(database.db, id)))
  return states.map(({ status, last_error }) => (status === 0 ? 'pending' : last_error))
}
const all = (count: number, state: string) => Array.from({ length: count }, () => state)

describe('cancelling what is pending for a disabled endpoint', () => {
  it('takes page after page, endpoints in turn, and nothing of others', async () => {
    const [one, other] = [await disabled(5), await disabled(3)]
    const active = await pendingDeliveries(database.db, await anEndpoint(database.db), 1)
    const { canceller, pages } = cancelling()
    for (const { endpoint } of [one, other]) canceller.request(endpoint.id)
    await canceller.finished()
    expect(await statesOf(one.deliveries)).toEqual(all(5, 'endpoint_disabled'))
    expect(await statesOf(other.deliveries)).toEqual(all(3, 'endpoint_disabled'))
    expect(await statesOf(active)).toEqual(['pending'])
    const [a, b] = [one.endpoint.id, other.endpoint.id]
    expect(pages).toEqual([a, b, a, b, a])
  })

  it('includes deliveries whose first attempt is being made', async () => {
    const { endpoint, deliveries } = await disabled(3, openDeliveries)
    const { canceller } = cancelling()
    canceller.request(endpoint.id)
    await canceller.finished()
    expect(await statesOf(deliveries)).toEqual(all(3, 'endpoint_disabled'))
  })

  it('ends when the endpoint is enabled meanwhile: what is left goes on', async () => {
    const { endpoint, deliveries } = await disabled(5)
    const { canceller } = cancelling(async (page) => {
      if (page === 1) await enableEndpoint(database.db, endpoint.accountId, endpoint.id)
    })
    canceller.request(endpoint.id)
    await canceller.finished()
    expect((await statesOf(deliveries)).sort()).toEqual([
      ...all(2, 'endpoint_disabled'),
      ...all(3, 'pending'),
    ])
  })

  it('goes on where the deletion of an endpoint left a long backlog', async () => {
    const endpoint = await anEndpoint(database.db)
    const deliveries = await pendingDeliveries(database.db, endpoint, 7)
    const { accountId, id } = endpoint
    expect(await deleteEndpoint(database.db, accountId, id, { pages: 2, rows: 2 })).toEqual({
      cancelledDeliveries: 4,
    })
    expect(
      (await findEndedWithBacklog(database.db, { before: new Date(Date.now() + 60_000), limit: 1000 })).map(
        (row) => row.id,
      ),
    ).toContain(id)
    const { canceller, pages } = cancelling()
    canceller.request(id)
    await canceller.finished()
    expect(pages).toHaveLength(2)
    expect(await statesOf(deliveries)).toEqual(all(7, 'endpoint_deleted'))
  })

  it('never waits for a purge that waits for it', async () => {
    const { endpoint, deliveries } = await disabled(2)
    const [first, second] = deliveries.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
    if (!first || !second) throw new Error('two deliveries')
    // The delivery of the older event has the higher id, as after a replay.
    const { rows } = await database.db.query<{ id: DeliveryId }>(
      `update webhook_deliveries set id = default where id = $1 returning id`,
      [first.id],
    )
    let cancelled: Promise<unknown> = Promise.resolve()
    await behindLock(
      database.db,
      async (tx) => {
        await tx.query('select from webhook_deliveries where id = $1 for update', [second.id])
        cancelled = cancelBacklog(database.db, endpoint.id, null, 1000)
        // Awaited below; until then, a failure must not count as unhandled.
        cancelled.catch(() => undefined)
        await lockWaiters(database.db, 1)
      },
      2,
      () => purgeRecording(database.db, { accountId: endpoint.accountId, audioId: 'rec_1001' }),
    )
    await cancelled
    for (const id of [rows[0]?.id ?? second.id, second.id])
      expect(await deliveryState(database.db, id)).toMatchObject({ status: 2 })
  })

  it('leaves the rest to the sweeper when it is stopped or a statement fails', async () => {
    const before = later(1)
    const found = async () => {
      const page = await findEndedWithBacklog(database.db, { before, limit: 1000 })
      return page.map(({ id }) => id)
    }
    const [stopped, failed] = [await disabled(5), await disabled(5)]
    const first = cancelling(() => Promise.resolve(void first.canceller.stop()))
    first.canceller.request(stopped.endpoint.id)
    await first.canceller.finished()
    const second = cancelling((page) =>
      page === 1 ? Promise.reject(new Error('refused')) : Promise.resolve(),
    )
    second.canceller.request(failed.endpoint.id)
    await second.canceller.finished()
    expect(second.failures).toEqual([failed.endpoint.id])
    expect(await found()).toEqual([stopped.endpoint.id, failed.endpoint.id])
    const third = cancelling()
    for (const id of await found()) third.canceller.request(id)
    await third.canceller.finished()
    expect(await found()).toEqual([])
  })
})
