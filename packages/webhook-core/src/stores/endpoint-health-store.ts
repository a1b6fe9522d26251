import type { Queryable } from '@signet/db'
import type { EndpointId } from '../ids.js'

/** Numbers of deliveries of one hour. */
export type HourlyCount = { readonly hoursAgo: number; readonly delivered: number; readonly failed: number }

/** Statistics about an endpoint's deliveries that were created in the last 24 hours, or about the newest of them. */
export type EndpointHealth = {
  readonly delivered: number
  readonly failed: number
  readonly pending: number
  /** Milliseconds from the event to its delivery, including retries. Null if nothing was delivered. */
  readonly p50: number | null
  readonly p95: number | null
  readonly hours: readonly HourlyCount[]
  /** True if there were more deliveries than are counted. */
  readonly isPartial: boolean
}

/** How many deliveries of an endpoint are counted at most. This limits how long a page takes for a busy endpoint. */
const WINDOW = 10_000

type Row = {
  endpoint_id: EndpointId
  hours_ago: number | null
  delivered: number
  failed: number
  pending: number
  p50: number | null
  p95: number | null
}

/** The health of an account's endpoints that are not deleted. Endpoints without a recent delivery are left out. */
export async function listEndpointHealth(
  db: Queryable,
  accountId: string,
): Promise<ReadonlyMap<EndpointId, EndpointHealth>> {
  const { rows } = await db.query<Row>(healthOf('e.account_id = $1 and e.deleted_at is null'), [accountId])
  const totals = rows.filter(({ hours_ago: hour }) => hour === null)
  return new Map(totals.map((total) => [total.endpoint_id, toHealth(total, rows)]))
}

/** The health of an endpoint, even a deleted one. Null if it has no recent delivery. */
export async function findEndpointHealth(
  db: Queryable,
  { accountId, endpointId }: { accountId: string; endpointId: EndpointId },
): Promise<EndpointHealth | null> {
  const { rows } = await db.query<Row>(healthOf('e.account_id = $1 and e.id = $2'), [accountId, endpointId])
  const total = rows.find(({ hours_ago: hour }) => hour === null)
  return total ? toHealth(total, rows) : null
}

/** One statement over the index of the delivery log. */
const healthOf = (endpoints: string): string =>
  `with recent as (
       select e.id as endpoint_id, d.status, extract(epoch from d.delivered_at - d.created_at) * 1000 as took,
              floor(extract(epoch from now() - d.created_at) / 3600)::integer as hours_ago
         from webhook_endpoints e
        cross join lateral (
          select status, created_at, delivered_at from webhook_deliveries
           where endpoint_id = e.id and created_at > now() - interval '24 hours'
           order by created_at desc, id desc limit ${WINDOW}
        ) d
        where ${endpoints}
     )
     select endpoint_id, hours_ago,
            (count(*) filter (where status = 1))::integer as delivered,
            (count(*) filter (where status = 2))::integer as failed,
            (count(*) filter (where status = 0))::integer as pending,
            (percentile_cont(0.5) within group (order by took) filter (where status = 1))::float8 as p50,
            (percentile_cont(0.95) within group (order by took) filter (where status = 1))::float8 as p95
       from recent
      group by grouping sets ((endpoint_id), (endpoint_id, hours_ago))`

function toHealth(
  { endpoint_id: id, delivered, failed, pending, p50, p95 }: Row,
  rows: readonly Row[],
): EndpointHealth {
  const hours = rows.flatMap((row) =>
    row.endpoint_id === id && row.hours_ago !== null
      ? [{ hoursAgo: row.hours_ago, delivered: row.delivered, failed: row.failed }]
      : [],
  )
  return { delivered, failed, pending, p50, p95, hours, isPartial: delivered + failed + pending >= WINDOW }
}
