import type { Queryable } from '@signet/db'
import { deliveryStatus, type DeliveryId } from '@signet/webhook-core'
import {
  DELIVERY_COLUMNS,
  LOG_ORDER,
  MAX_ID,
  OWN_ENDPOINT,
  toDelivery,
  type Delivery,
  type DeliveryFilter,
  type DeliveryRow,
  type LogKey,
  type LogOwner,
} from './delivery-row.js'

/** `next` is where the next page begins; null at the end. */
export type DeliverySlice = { items: Delivery[]; next: LogKey | null }

/**
 * Maximum number of rows that one page reads. If few of them pass the filter, the page ends early, even if it is empty, and the next
 * page continues from there, so no request reads a whole long log.
 */
const WINDOW = 2000

type StopRow = { stop_time: string | null; stop_id: DeliveryId | null }
const NO_STOP: StopRow = { stop_time: null, stop_id: null }

type Options = { after?: LogKey | null; limit: number; window?: number }

/** Returns the deliveries of an endpoint's log that pass the filter, newest first, starting after the position `after`. */
export async function findDeliveries(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  filter: DeliveryFilter,
  { after = null, limit, window = windowOf(filter, limit) }: Options,
): Promise<DeliverySlice> {
  const { status, eventType, eventId, since, until } = filter
  const { rows } = await db.query<(DeliveryRow | { id: null }) & StopRow>(
    `with seen as materialized (${sourceOf(filter)}),
     fitting as (
       select id, created_at from seen
       where ($6::smallint is null or status = $6) and ($7::text is null or event_type = $7)
       order by ${LOG_ORDER} limit $8 + 1
     ),
     page as (select id, created_at from fitting order by ${LOG_ORDER} limit $8),
     stop as (
       select id, created_at from page where (select count(*) from fitting) > $8
       union all
       select id, created_at from seen
       where (select count(*) from fitting) <= $8 and (select count(*) from seen) = $9
       order by created_at, id limit 1
     )
     -- Every row names the stop. A page without deliveries has one row, with a null id.
     select ${DELIVERY_COLUMNS}, stop_time, stop_id
     from (values (true)) one
     left join (select created_at::text as stop_time, id as stop_id from stop) s on true
     left join webhook_deliveries on id = any (array(select id from page))
     order by ${LOG_ORDER}`,
    [
      endpointId,
      accountId,
      // A delivery created at `until` has an id above 0, so it does not come before this position.
      after?.createdAt ?? until ?? 'infinity',
      after?.id ?? (until ? '0' : MAX_ID),
      since ?? '-infinity',
      status ?? null,
      eventType ?? null,
      limit,
      window,
      ...(eventId === undefined ? [] : [eventId]),
    ],
  )
  const items = rows.flatMap((row) => (row.id === null ? [] : [toDelivery(row)]))
  const [{ stop_time: createdAt, stop_id: id } = NO_STOP] = rows
  return { items, next: createdAt !== null && id !== null ? { createdAt, id } : null }
}

/** If every row of the index passes the filter, one more than the page needs shows whether there is another page. */
const windowOf = ({ status, eventType, eventId }: DeliveryFilter, limit: number): number => {
  const hasIndex = status !== deliveryStatus.delivered && eventId === undefined
  return eventType === undefined && (status === undefined || hasIndex) ? limit + 1 : WINDOW
}

/** The part of the log that the best index for the filter finds, newest first. */
function sourceOf({ status, eventId }: DeliveryFilter): string {
  const columns = 'd.id, d.created_at, d.status, d.event_type'
  const range = `d.endpoint_id = ${OWN_ENDPOINT}
    and (d.created_at, d.id) < ($3::timestamptz, $4::bigint) and d.created_at >= $5::timestamptz`
  const order = 'order by d.created_at desc, d.id desc limit $9'
  if (eventId !== undefined)
    // "offset 0" keeps the planner from choosing the index of the log instead, which has no event ids.
    return `select ${columns} from (
        select ${columns}, d.endpoint_id from webhook_deliveries d where d.event_id = $10 offset 0
      ) d where ${range} ${order}`
  if (status === deliveryStatus.failed)
    return `select ${columns} from webhook_deliveries d where d.failed and ${range} ${order}`
  if (status === deliveryStatus.pending)
    // Two kinds, as in webhook_pending_deliveries: those that are due at some time, and the few whose first attempt is in progress.
    return `select ${columns} from (
        (select ${columns}, d.endpoint_id from webhook_deliveries d
         where d.next_attempt_at is not null and ${range} ${order})
        union all
        select ${columns}, d.endpoint_id from webhook_first_attempts f
        cross join lateral (
          select ${columns}, d.endpoint_id from webhook_deliveries d
          where d.event_id = f.event_id and d.status = 0 and d.next_attempt_at is null offset 0
        ) d
        where ${range}
      ) d ${order}`
  return `select ${columns} from webhook_deliveries d where ${range} ${order}`
}
