import type { Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'
import { creatingReplays } from '@signet/webhook-core/stores'
import type { LogOwner } from './delivery-row.js'

/**
 * Sends the event of a delivery again, due at once. Null if there is no such delivery, its endpoint is disabled, its event is
 * pending for it, or the content is gone. Of parallel callers one succeeds.
 */
export async function replayDelivery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: DeliveryId,
): Promise<DeliveryId | null> {
  const { rows } = await db.query<{ id: DeliveryId }>(
    `with chosen as materialized (
       select d.event_id, d.endpoint_id, d.event_type
       from webhook_deliveries d
       join webhook_events v on v.id = d.event_id and v.body is not null
       join webhook_endpoints e on e.id = d.endpoint_id and e.status = 1 and e.deleted_at is null
       where d.id = $3 and d.endpoint_id = $1 and e.account_id = $2 and not exists (
         select from webhook_deliveries o
         where o.event_id = d.event_id and o.endpoint_id = d.endpoint_id and o.status = 0
       )
     ), ${creatingReplays({ due: 'clock_timestamp()' })}
     select id from created`,
    [endpointId, accountId, id],
  )
  return rows[0]?.id ?? null
}
