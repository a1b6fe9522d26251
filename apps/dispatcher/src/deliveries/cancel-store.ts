import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'

/** How far the cancelling of an endpoint's deliveries came, from the newest on. PostgreSQL's text keeps the microseconds. */
export type BacklogPosition = { createdAt: string; id: DeliveryId }

/**
 * Cancels up to `limit` scheduled deliveries of an endpoint that is disabled, the newest first, older than `after`. The first call
 * also cancels those whose first attempt is being made, which are few. Returns where the next call begins, or null if nothing is
 * left or the endpoint is not disabled.
 */
export async function cancelOfDisabled(
  db: Queryable,
  endpointId: EndpointId,
  after: BacklogPosition | null,
  limit: number,
): Promise<BacklogPosition | null> {
  const { rows } = await db.query<{ created_at: string; id: DeliveryId; count: number }>(
    {
      name: 'cancel-of-disabled',
      // Goes by position, because the entries of cancelled deliveries stay in the index for a while.
      text: `
      with disabled as materialized (
        select id from webhook_endpoints where id = $1 and status = 2
      ),
      page as materialized (
        select id, created_at from webhook_deliveries
        where endpoint_id = $1 and next_attempt_at is not null and (created_at, id) < ($2::timestamptz, $3::bigint)
          and exists (select from disabled)
        order by created_at desc, id desc limit $4
      ),
      being_made as materialized (
        select d.id from webhook_first_attempts f
        join webhook_deliveries d on d.event_id = f.event_id and d.endpoint_id = $1
        where $2::timestamptz = 'infinity' and d.status = 0 and d.next_attempt_at is null and exists (select from disabled)
      ),
      -- By ascending id (packages/webhook-core/README.md#lock-order).
      delivery as materialized (
        select id from webhook_deliveries
        where id = any (array(select id from page union all select id from being_made))
        order by id for no key update
      ),
      cancelled as (
        update webhook_deliveries set status = 2, last_error = 'endpoint_disabled', next_attempt_at = null
        where id = any (array(select id from delivery)) and status = 0
      )
      select created_at::text, id, (select count(*)::integer from page) as count
      from page order by page.created_at, page.id limit 1`,
    },
    [endpointId, after?.createdAt ?? 'infinity', after?.id ?? '0', limit],
  )
  const [last] = rows
  return last && last.count === limit ? { createdAt: last.created_at, id: last.id } : null
}

/**
 * For the sweeper: endpoints that were disabled before `before` and still have scheduled deliveries, by ascending id, starting
 * after `after`.
 */
export async function findDisabledWithBacklog(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: { id: EndpointId }; limit: number },
): Promise<{ id: EndpointId }[]> {
  const { rows } = await db.query<{ id: EndpointId }>(
    `select e.id from webhook_endpoints e
     where e.status = 2 and e.deleted_at is null and e.disabled_at < $1 and e.id > $2
       and exists (
         select from webhook_deliveries d where d.endpoint_id = e.id and d.next_attempt_at is not null offset 0
       )
     order by e.id limit $3`,
    [before, after?.id ?? '0', limit],
  )
  return rows
}
