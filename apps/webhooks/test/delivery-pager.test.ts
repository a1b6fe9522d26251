import { randomInt } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint } from '@signet/webhook-testkit'
import type { Endpoint } from '@signet/webhook-core/stores'
import { DeliveryPager } from '../src/deliveries/delivery-pager.js'

const database = useWebhooksDatabase()

/** Inserts `count` finished deliveries, one per second, the newest of them `newestAgeSeconds` old. */
async function history(
  count: number,
  { endpoint, newestAgeSeconds = 120 }: { endpoint?: Endpoint; newestAgeSeconds?: number } = {},
) {
  const { db } = database
  const owner = endpoint ?? (await anEndpoint(db))
  const tag = randomInt(2 ** 32)
    .toString(16)
    .padStart(8, '0')
  await db.query(
    `with event as (
       insert into webhook_events (id, account_id, type, source, state, body, dispatched_at)
       select 'evt_' || $4 || lpad(to_hex(n), 24, '0'), $1, 'summary.completed', 'test', 'dispatched', '{}', now()
       from generate_series(1, $3::integer) n
     )
     insert into webhook_deliveries (endpoint_id, event_id, event_type, status, delivered_at, created_at)
     select $2, 'evt_' || $4 || lpad(to_hex(n), 24, '0'), 'summary.completed', 1, now(),
       now() - make_interval(secs => $3::integer - n + $5::integer)
     from generate_series(1, $3::integer) n`,
    [owner.accountId, owner.id, count, tag, newestAgeSeconds],
  )
  return owner
}

/** The ids of the whole log in order, read with a plain query. */
async function logOf({ id }: Endpoint): Promise<string[]> {
  const { rows } = await database.db.query<{ id: string }>(
    `select id from webhook_deliveries where endpoint_id = $1 order by created_at desc, id desc`,
    [id],
  )
  return rows.map((row) => row.id)
}

const ownerOf = ({ id, accountId }: Endpoint) => ({ accountId, endpointId: id })
const idsOf = async (pager: DeliveryPager, endpoint: Endpoint, page: number, pageSize: number) =>
  (await pager.page(ownerOf(endpoint), { page, pageSize })).map((delivery) => delivery.id)

describe('DeliveryPager', () => {
  it('shows deliveries with their fields, newest first', async () => {
    const endpoint = await history(3)
    const [newest] = await new DeliveryPager(database.db).page(ownerOf(endpoint), { page: 1, pageSize: 1 })
    expect(newest).toMatchObject({
      id: (await logOf(endpoint))[0],
      endpointId: endpoint.id,
      eventId: expect.stringMatching(/^evt_/),
      eventType: 'summary.completed',
      status: 1,
      attempts: 0,
      lastError: '',
      key: { createdAt: expect.any(String), id: (await logOf(endpoint))[0] },
      deliveredAt: expect.any(Date),
      createdAt: expect.any(Date),
    })
  })

  it.each([7, 10, 100])(
    'gives every page of %d rows exactly, in any order of asking, whatever the marks',
    async (size) => {
      const endpoint = await history(345)
      await history(20) // of another endpoint, so never shown
      const log = await logOf(endpoint)
      const pager = new DeliveryPager(database.db, { stride: 30 })
      const pages = Array.from({ length: Math.ceil(log.length / size) + 2 }, (_, i) => i + 1)
      const shuffled = [...pages].sort(() => randomInt(3) - 1)
      const read = await Promise.all(
        shuffled.map(async (page) => [page, await idsOf(pager, endpoint, page, size)] as const),
      )
      for (const [page, ids] of read)
        expect([page, ids]).toEqual([page, log.slice((page - 1) * size, page * size)])
    },
  )

  it('keeps the pages right while new deliveries come in on top', async () => {
    const endpoint = await history(200, { newestAgeSeconds: 100_000 })
    const pager = new DeliveryPager(database.db, { stride: 20 })
    for (const newestAgeSeconds of [50_000, 40_000, 120, 0]) {
      await idsOf(pager, endpoint, 15, 10)
      await history(37, { endpoint, newestAgeSeconds })
      const log = await logOf(endpoint)
      for (const page of [1, 3, 9, 20, 21, 35, 36, 90]) {
        expect([page, await idsOf(pager, endpoint, page, 10)]).toEqual([
          page,
          log.slice((page - 1) * 10, page * 10),
        ])
      }
    }
  })

  it('keeps the pages right while retention takes the oldest away', async () => {
    const endpoint = await history(200)
    const pager = new DeliveryPager(database.db, { stride: 20 })
    await idsOf(pager, endpoint, 19, 10)
    const log = await logOf(endpoint)
    await database.db.query(`delete from webhook_deliveries where id = any ($1)`, [log.slice(120)])
    expect(await idsOf(pager, endpoint, 12, 10)).toEqual(log.slice(110, 120))
    for (const page of [13, 18, 19]) expect(await idsOf(pager, endpoint, page, 10)).toEqual([])
  })

  it('has no rows beyond the end, at once and again, and none for an endpoint without deliveries', async () => {
    const endpoint = await history(50)
    const pager = new DeliveryPager(database.db, { stride: 10 })
    for (const page of [6, 999_999, 999_999]) expect(await idsOf(pager, endpoint, page, 100)).toEqual([])
    const empty = await anEndpoint(database.db)
    expect(await idsOf(pager, empty, 1, 20)).toEqual([])
    expect(await idsOf(pager, empty, 999_999, 100)).toEqual([])
  })

  it('orders rows of the same instant by id, also across a mark', async () => {
    const endpoint = await history(60)
    await database.db.query(
      `update webhook_deliveries set created_at = now() - interval '1 hour' where endpoint_id = $1`,
      [endpoint.id],
    )
    const log = await logOf(endpoint)
    const pager = new DeliveryPager(database.db, { stride: 7 })
    const read = await Promise.all([1, 2, 3, 4, 5, 6].map((page) => idsOf(pager, endpoint, page, 10)))
    expect(read.flat()).toEqual(log)
  })

  it('shows nothing of an endpoint to an account that does not own it, near or far', async () => {
    const endpoint = await history(5)
    const stranger = { accountId: (await anEndpoint(database.db)).accountId, endpointId: endpoint.id }
    const pager = new DeliveryPager(database.db, { stride: 2 })
    expect(await idsOf(pager, endpoint, 3, 2)).toHaveLength(1)
    for (const page of [1, 3]) expect(await pager.page(stranger, { page, pageSize: 2 })).toEqual([])
  })

  it('keeps the pages of an endpoint right whatever others ask for', async () => {
    const endpoint = await history(60)
    const stranger = { accountId: (await anEndpoint(database.db)).accountId, endpointId: endpoint.id }
    const pager = new DeliveryPager(database.db, { stride: 7 })
    const log = await logOf(endpoint)
    for (const page of [3, 5, 6]) {
      expect(await pager.page(stranger, { page, pageSize: 10 })).toEqual([])
      expect(await idsOf(pager, endpoint, page, 10)).toEqual(log.slice((page - 1) * 10, page * 10))
    }
  })
})
