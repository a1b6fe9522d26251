import type { Queryable } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'

/**
 * For the sweeper: endpoints that were disabled or deleted in the day before `before` and still have scheduled deliveries, by
 * ascending id, starting after `after`. Deliveries to endpoints that ended earlier end when they are due, so a sweep never scans
 * every endpoint ever disabled.
 */
export async function findEndedWithBacklog(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: { id: EndpointId }; limit: number },
): Promise<{ id: EndpointId }[]> {
  const { rows } = await db.query<{ id: EndpointId }>(
    `with ended as materialized (
       select id from webhook_endpoints
       where status = 2 and deleted_at is null and id > $2
         and disabled_at < $1 and disabled_at > $1::timestamptz - interval '1 day'
       union all
       select id from webhook_endpoints
       where id > $2 and deleted_at < $1 and deleted_at > $1::timestamptz - interval '1 day'
     )
     select e.id from ended e
     where exists (
       select from webhook_deliveries d where d.endpoint_id = e.id and d.next_attempt_at is not null offset 0
     )
     order by e.id limit $3`,
    [before, after?.id ?? '0', limit],
  )
  return rows
}
