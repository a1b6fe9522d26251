import { beforeAll, describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, anEndpoint } from '@signet/webhook-testkit'
import type { EventId } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import type { Delivery, DeliveryFilter, LogKey } from '../src/deliveries/delivery-row.js'
import { findDeliveries } from '../src/deliveries/delivery-store.js'

const database = useWebhooksDatabase()
let endpoint: Endpoint

// 120 deliveries, two per second, in every state and of both types: the 7th of every ten failed, the 8th is due later, the 9th is
// in its first attempt. Every fifth event has a replay.
beforeAll(async () => {
  const { db } = database
  endpoint = await anEndpoint(db)
  await db.query(
    `with event as (
       insert into webhook_events (id, account_id, type, source, state, body, dispatched_at)
       select 'evt_' || lpad(to_hex(n), 32, '0'), $1, case when n % 3 = 0 then 'webhook.ping' else 'summary.completed' end,
         'test', 'dispatched', '{}', now()
       from generate_series(1, 100) n returning id, type
     ), delivery as (
       insert into webhook_deliveries
         (endpoint_id, event_id, event_type, replay, status, delivered_at, last_error, next_attempt_at, created_at)
       select $2::bigint, id, type, 0, case (n % 10)::integer when 7 then 2 when 8 then 0 when 9 then 0 else 1 end,
         case when n % 10 < 7 then now() end, case when n % 10 = 7 then 'timeout' else '' end,
         case when n % 10 = 8 then now() end, '2026-01-01T00:00:00Z'::timestamptz + interval '1 second' * (n / 2)
       from (select *, row_number() over (order by id) as n from event) e
       union all
       select $2::bigint, id, type, 1, 2, null, 'http_500', null, '2026-01-01T00:05:00Z'::timestamptz
       from (select *, row_number() over (order by id) as n from event) e where n % 5 = 0
     )
     insert into webhook_first_attempts
     select id, now() from (select *, row_number() over (order by id) as n from event) e where n % 10 = 9`,
    [endpoint.accountId, endpoint.id],
  )
  // Another endpoint has deliveries of the same events.
  const other = await anEndpoint(db, { accountId: endpoint.accountId })
  await db.query(
    `insert into webhook_deliveries (endpoint_id, event_id, event_type, status, last_error)
     select $1, id, type, 2, 'timeout' from webhook_events where account_id = $2`,
    [other.id, endpoint.accountId],
  )
})

const owner = () => ({ accountId: endpoint.accountId, endpointId: endpoint.id })

/** Follows the cursors to the end. */
async function all(filter: DeliveryFilter, options: { limit: number; window?: number }): Promise<Delivery[]> {
  const items: Delivery[] = []
  let after: LogKey | null = null
  do {
    const slice = await findDeliveries(database.db, owner(), filter, { ...options, after })
    expect(slice.items.length).toBeLessThanOrEqual(options.limit)
    items.push(...slice.items)
    after = slice.next
  } while (after)
  return items
}

/** The ids that a filter must find, from a check of every row. */
async function expected(filter: DeliveryFilter): Promise<string[]> {
  const { rows } = await database.db.query<{
    id: string
    status: number
    event_type: string
    event_id: string
    created_at: Date
  }>(
    `select id, status, event_type, event_id, created_at from webhook_deliveries where endpoint_id = $1
     order by created_at desc, id desc`,
    [endpoint.id],
  )
  const { status, eventType, eventId, since, until } = filter
  return rows
    .filter(
      (row) =>
        (status === undefined || row.status === status) &&
        (eventType === undefined || row.event_type === eventType) &&
        (eventId === undefined || row.event_id === eventId) &&
        (since === undefined || row.created_at >= new Date(since)) &&
        (until === undefined || row.created_at < new Date(until)),
    )
    .map(({ id }) => id)
}

const event = (n: number): EventId => `evt_${n.toString(16).padStart(32, '0')}`
const second = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString()

const FILTERS: [string, DeliveryFilter, number][] = [
  ['all', {}, 120],
  ['pending', { status: 0 }, 20],
  ['delivered', { status: 1 }, 70],
  ['failed', { status: 2 }, 30],
  ['a type', { eventType: 'webhook.ping' }, 39],
  ['a type and a status', { eventType: 'webhook.ping', status: 2 }, 9],
  ['an event and its replay', { eventId: event(5) }, 2],
  ['an event and a status', { eventId: event(5), status: 2 }, 1],
  ['an unknown event', { eventId: event(1000) }, 0],
  ['since, included', { since: second(50) }, 21],
  ['until, not included', { until: second(50) }, 99],
  ['a range of pending ones', { since: second(10), until: second(20), status: 0 }, 4],
]

describe.each(FILTERS)('findDeliveries: %s', (_name, filter, count) => {
  it.each([
    { limit: 100 },
    { limit: 7 },
    { limit: 1 },
    { limit: 3, window: 2 },
    { limit: 10, window: 10 },
    { limit: 7, window: 40 },
  ])('in pages of %j: each once, newest first', async (options) => {
    const found = await all(filter, options)
    expect(found).toHaveLength(count)
    expect(found.map(({ id }) => id)).toEqual(await expected(filter))
  })
})

it('says that nothing follows when the last page is full', async () => {
  const last = await findDeliveries(database.db, owner(), { status: 2 }, { limit: 30 })
  expect([last.items.length, last.next]).toEqual([30, null])
})

it('keeps its place while deliveries are added', async () => {
  const { db } = database
  const first = await findDeliveries(db, owner(), { until: second(600) }, { limit: 10 })
  await db.query(
    `insert into webhook_deliveries (endpoint_id, event_id, event_type, replay, status, last_error, created_at)
     values ($1, $2, 'summary.completed', 9, 2, 'timeout', '2026-01-01T00:09:00Z')`,
    [endpoint.id, event(1)],
  )
  const second_ = await findDeliveries(db, owner(), { until: second(600) }, { after: first.next, limit: 10 })
  const ids = [...first.items, ...second_.items].map(({ id }) => id)
  expect(ids).toEqual((await expected({ until: second(600) })).slice(1, 21))
})

it("shows nothing of an endpoint under another account's name", async () => {
  const slice = await findDeliveries(database.db, { ...owner(), accountId: anAccount() }, {}, { limit: 10 })
  expect(slice).toEqual({ items: [], next: null })
})
