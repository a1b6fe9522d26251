import type { Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'

/** `createdAt` is PostgreSQL's text, because a Date would lose the microseconds that paging needs. */
export type ScheduledDelivery = { id: DeliveryId; createdAt: string; isDue: boolean }

/**
 * Scheduled deliveries of an endpoint, oldest first, starting after `after`. Returns also those that are not due, so that a page costs the
 * same however many retries an endpoint has.
 */
export async function findScheduledOf(
  db: Queryable,
  endpointId: string,
  { now, after, limit }: { now: Date; after?: ScheduledDelivery | undefined; limit: number },
): Promise<ScheduledDelivery[]> {
  const { rows } = await db.query<{ id: DeliveryId; created_at: string; is_due: boolean }>(
    `select d.id, d.created_at::text, d.next_attempt_at <= $2 as is_due from webhook_deliveries d
     where d.endpoint_id = $1 and d.next_attempt_at is not null and (d.created_at, d.id) > ($3, $4)
     order by d.created_at, d.id limit $5`,
    [endpointId, now, after?.createdAt ?? '-infinity', after?.id ?? '0', limit],
  )
  return rows.map((row) => ({ id: row.id, createdAt: row.created_at, isDue: row.is_due }))
}
