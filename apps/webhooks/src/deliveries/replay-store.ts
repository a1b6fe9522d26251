import type { Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'
import { creatingReplays } from '@signet/webhook-core/stores'
import { OWN_ENDPOINT, type LogOwner } from './delivery-row.js'

/**
 * Delivery `o` prevents sending the event of `d` again if it is pending or was created a moment ago. Otherwise a receiver that answers
 * immediately would get the event once for each of several callers (decision 0067).
 */
const IN_THE_WAY = `o.event_id = d.event_id and o.endpoint_id = d.endpoint_id
  and (o.status = 0 or o.replay > 0 and o.created_at > clock_timestamp() - interval '10 seconds')`

/**
 * Sends the event of a delivery again, due immediately. Returns null if there is no such delivery, its endpoint is disabled, another
 * delivery is in the way, or the content is gone. Of parallel callers, one succeeds.
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
       where d.id = $3 and d.endpoint_id = $1 and e.account_id = $2
         and not exists (select from webhook_deliveries o where ${IN_THE_WAY})
     ), ${creatingReplays({ due: 'clock_timestamp()' })}
     select id from created`,
    [endpointId, accountId, id],
  )
  return rows[0]?.id ?? null
}

/** The reason why a delivery was not sent again. */
export type Obstacle = { gone: boolean; delivery: { id: DeliveryId; pending: boolean } | null }

export async function findObstacle(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: DeliveryId,
): Promise<Obstacle> {
  const { rows } = await db.query<{ gone: boolean; id: DeliveryId | null; pending: boolean }>(
    `select v.body is null as gone, w.id, w.status = 0 as pending
     from webhook_deliveries d
     join webhook_events v on v.id = d.event_id
     left join lateral (
       select o.id, o.status from webhook_deliveries o where ${IN_THE_WAY} order by o.status, o.id desc limit 1
     ) w on true
     where d.id = $3 and d.endpoint_id = ${OWN_ENDPOINT}`,
    [endpointId, accountId, id],
  )
  const [row] = rows
  if (!row) return { gone: true, delivery: null }
  return { gone: row.gone, delivery: row.id === null ? null : { id: row.id, pending: row.pending } }
}
