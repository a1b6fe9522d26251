import type { Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'
import {
  DELIVERY_COLUMNS,
  LOG_ORDER,
  MAX_ID,
  OWN_ENDPOINT,
  toDelivery,
  type Delivery,
  type DeliveryRow,
  type LogKey,
  type LogOwner,
} from './delivery-row.js'

type KeyRow = { created: string; id: DeliveryId }

const toKey = (row: KeyRow | undefined): LogKey | null =>
  row ? { createdAt: row.created, id: row.id } : null

/**
 * Rows this old hardly ever appear anymore. Those of an outage do: a delivery has the time at which its event was read, but gets its row
 * with the first result, which waits until PostgreSQL is back. Pages far down then start by so many rows too early or too late.
 */
const SETTLED = '1 minute'

/** Returns the newest position in a log below which rows hardly ever appear, or null if there is none yet. */
export async function findNewestSettled(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
): Promise<LogKey | null> {
  const { rows } = await db.query<KeyRow>(
    `select created_at::text as created, id from webhook_deliveries
     where endpoint_id = ${OWN_ENDPOINT} and created_at < now() - interval '${SETTLED}'
     order by ${LOG_ORDER} limit 1`,
    [endpointId, accountId],
  )
  return toKey(rows[0])
}

/** Returns the position `distance` rows behind another, or null beyond the end. */
export async function findPlaceBehind(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  from: LogKey,
  distance: number,
): Promise<LogKey | null> {
  const { rows } = await db.query<KeyRow>(
    // Converts to text outside, because otherwise every skipped row would be converted.
    `select created_at::text as created, id from (
       select created_at, id from webhook_deliveries
       where endpoint_id = ${OWN_ENDPOINT} and (created_at, id) < ($3, $4)
       order by ${LOG_ORDER} offset $5 limit 1
     ) as mark`,
    [endpointId, accountId, from.createdAt, from.id, distance - 1],
  )
  return toKey(rows[0])
}

/** Counts rows newer than a position, up to and including another, or all of them. */
export async function countNewer(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  than: LogKey,
  upTo: LogKey | null = null,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from webhook_deliveries
     where endpoint_id = ${OWN_ENDPOINT} and (created_at, id) > ($3, $4) and (created_at, id) <= ($5, $6)`,
    [endpointId, accountId, than.createdAt, than.id, upTo?.createdAt ?? 'infinity', upTo?.id ?? MAX_ID],
  )
  return rows[0]?.count ?? 0
}

/**
 * Returns `limit` rows from a position on, or from the newest, after skipping `skip` rows. The row at the position itself counts as the
 * first one.
 */
export async function findLogPage(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  from: LogKey | null,
  { skip, limit }: { skip: number; limit: number },
): Promise<Delivery[]> {
  const { rows } = await db.query<DeliveryRow>(
    // Skips rows in the index and fetches only those of the page.
    `with page as materialized (
       select id from webhook_deliveries
       where endpoint_id = ${OWN_ENDPOINT} and (created_at, id) <= ($3, $4)
       order by ${LOG_ORDER} offset $5 limit $6
     )
     select ${DELIVERY_COLUMNS}
     from webhook_deliveries where id = any (array(select id from page))
     order by ${LOG_ORDER}`,
    [endpointId, accountId, from?.createdAt ?? 'infinity', from?.id ?? MAX_ID, skip, limit],
  )
  return rows.map(toDelivery)
}
