import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId } from '../ids.js'

/** How far the cancellation of an endpoint's deliveries has come, starting from the newest. A text keeps PostgreSQL's microseconds. */
export type BacklogPosition = { createdAt: string; id: DeliveryId }

/**
 * Cancels up to `limit` scheduled deliveries of an endpoint that was deleted or disabled, newest first, starting below the position
 * `after`. The first call also cancels those whose first attempt is in progress, which are few. Returns how many it cancelled, and
 * where the next call must start: null if nothing is left, or if the endpoint is neither deleted nor disabled.
 */
// oxlint-disable-next-line signet/account-in-stores -- returns no data, and only cancels what must not be sent anymore
export async function cancelBacklog(
  db: Queryable,
  endpointId: EndpointId,
  after: BacklogPosition | null,
  limit: number,
): Promise<{ cancelled: number; next: BacklogPosition | null }> {
  const { rows } = await db.query<{
    cancelled: number
    found: number
    created_at: string | null
    id: DeliveryId | null
  }>(
    {
      name: 'cancel-backlog',
      // Continues from a position, because the index keeps the entries of cancelled deliveries for a while.
      text: `
      with ended as materialized (
        select case when deleted_at is null then 'endpoint_disabled' else 'endpoint_deleted' end as reason
        from webhook_endpoints where id = $1 and (status = 2 or deleted_at is not null)
      ),
      page as materialized (
        select id, created_at from webhook_deliveries
        where endpoint_id = $1 and next_attempt_at is not null and (created_at, id) < ($2::timestamptz, $3::bigint)
          and exists (select from ended)
        order by created_at desc, id desc limit $4
      ),
      being_made as materialized (
        select d.id from webhook_first_attempts f
        join webhook_deliveries d on d.event_id = f.event_id and d.endpoint_id = $1
        where $2::timestamptz = 'infinity' and d.status = 0 and d.next_attempt_at is null and exists (select from ended)
      ),
      -- By ascending id (packages/webhook-core/README.md#lock-order).
      delivery as materialized (
        select id from webhook_deliveries
        where id = any (array(select id from page union all select id from being_made))
        order by id for no key update
      ),
      cancelled as (
        update webhook_deliveries set status = 2, last_error = (select reason from ended), next_attempt_at = null
        where id = any (array(select id from delivery)) and status = 0
        returning 1
      ),
      last as (
        select created_at, id from page order by page.created_at, page.id limit 1
      )
      select (select count(*)::integer from cancelled) as cancelled, (select count(*)::integer from page) as found,
        (select created_at::text from last) as created_at, (select id from last) as id`,
    },
    [endpointId, after?.createdAt ?? 'infinity', after?.id ?? '0', limit],
  )
  const { cancelled = 0, found = 0, created_at: createdAt = null, id = null } = rows[0] ?? {}
  const isFull = found === limit && createdAt !== null && id !== null
  return { cancelled, next: isFull ? { createdAt, id } : null }
}
