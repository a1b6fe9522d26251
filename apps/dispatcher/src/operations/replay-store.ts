import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import { creatingReplays } from '@signet/webhook-core/stores'
import type { DueDelivery } from '@signet/webhook-core/queue'

/** What to send again: one delivery, or everything that failed for an endpoint since a time. */
export type ReplayTarget = { deliveryId: DeliveryId } | { endpointId: EndpointId; failedSince: Date }

export type ReplayRequest = ReplayTarget & {
  /** Who asked and why, stored with the action. */
  operator: string
  reason: string
  now: Date
  /** Maximum deliveries per call. */
  limit: number
}

/**
 * Creates new deliveries of the same events and records who asked, in one statement. For operators only, never for the API.
 * Skips events without a body, inactive endpoints, and events that are pending for the endpoint or have been delivered to it
 * since. Returns the new deliveries, which the caller puts into the queue.
 */
export async function replayDeliveries(db: Queryable, request: ReplayRequest): Promise<DueDelivery[]> {
  const { rows } = await db.query<{ id: DeliveryId; endpoint_id: EndpointId; account_id: string }>(
    `with chosen as materialized (${chosenBy(request)} limit $3),
     ${creatingReplays({ due: '$4' })},
     noted as (
       insert into operator_actions (operator, action, detail)
       select $5, 'replay', jsonb_build_object('reason', $6::text, 'deliveries', jsonb_agg(jsonb_build_object(
         'id', id::text, 'endpoint_id', endpoint_id::text, 'event_id', event_id)))
       from created having count(*) > 0
     )
     select id, endpoint_id, (select account_id from webhook_endpoints e where e.id = endpoint_id) as account_id
     from created order by id`,
    [...valuesOf(request), request.limit, request.now, request.operator, request.reason],
  )
  return rows.map((row) => ({ id: row.id, endpointId: row.endpoint_id, accountId: row.account_id }))
}

export type Replayable = { deliveryId: DeliveryId; endpointId: EndpointId; eventId: EventId }

/** What `replayDeliveries` would send again. Changes nothing. */
export async function findReplayable(
  db: Queryable,
  target: ReplayTarget,
  limit: number,
): Promise<Replayable[]> {
  const { rows } = await db.query<{ id: DeliveryId; endpoint_id: EndpointId; event_id: EventId }>(
    `${chosenBy(target)} limit $3`,
    [...valuesOf(target), limit],
  )
  return rows.map(({ id, endpoint_id, event_id }) => ({
    deliveryId: id,
    endpointId: endpoint_id,
    eventId: event_id,
  }))
}

/** $1 is an id, $2 the time for an endpoint as a whole. */
const chosenBy = (target: ReplayTarget): string => `
  select distinct on (d.event_id, d.endpoint_id) d.id, d.event_id, d.endpoint_id, d.event_type
  from webhook_deliveries d
  join webhook_events v on v.id = d.event_id and v.body is not null
  join webhook_endpoints e on e.id = d.endpoint_id and e.status = 1 and e.deleted_at is null
  where ${
    'deliveryId' in target
      ? // A delivered one may be repeated, unless a later replay of it was already delivered.
        `d.id = $1 and $2::timestamptz is null and not exists (
           select from webhook_deliveries other
           where other.event_id = d.event_id and other.endpoint_id = d.endpoint_id
             and (other.status = 0 or other.status = 1 and other.replay > d.replay)
         )`
      : `d.endpoint_id = $1 and d.status = 2 and d.created_at >= $2 and not exists (
           select from webhook_deliveries other
           where other.event_id = d.event_id and other.endpoint_id = d.endpoint_id and other.status in (0, 1)
         )`
  }
  order by d.event_id, d.endpoint_id, d.id`

const valuesOf = (target: ReplayTarget): [string, Date | null] =>
  'deliveryId' in target ? [target.deliveryId, null] : [target.endpointId, target.failedSince]
