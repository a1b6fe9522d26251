import type { Queryable } from '@signet/db'
import {
  eventTypes,
  type DeliveryId,
  type DeliveryStatus,
  type EndpointId,
  type EndpointStatus,
  type EventId,
  type EventState,
  type FailureReason,
} from '@signet/webhook-core'

export type EventReport = {
  id: EventId
  accountId: string
  type: string
  state: EventState
  source: string
  bytes: number
  unconverted: string | null
  /** Set for a test event, which has one receiver. */
  targetEndpointId: EndpointId | null
  createdAt: Date
  dispatchedAt: Date | null
}

/** One event without its body. */
export async function findEvent(db: Queryable, id: EventId): Promise<EventReport | null> {
  const { rows } = await db.query<EventReport>(
    `select id, account_id as "accountId", type, state, source, coalesce(octet_length(body), 0) as bytes, unconverted,
       target_endpoint_id as "targetEndpointId", created_at as "createdAt", dispatched_at as "dispatchedAt"
     from webhook_events where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

export type DeliveryLine = {
  id: DeliveryId
  eventId: EventId
  eventType: string
  endpointId: EndpointId
  url: string
  status: DeliveryStatus
  attempts: number
  lastError: FailureReason | ''
  replay: number
  createdAt: Date
  nextAttemptAt: Date | null
  deliveredAt: Date | null
}

const LINE = `d.id, d.event_id as "eventId", d.event_type as "eventType", d.endpoint_id as "endpointId", e.url, d.status, d.attempts,
  d.last_error as "lastError", d.replay, d.created_at as "createdAt", d.next_attempt_at as "nextAttemptAt",
  d.delivered_at as "deliveredAt"`

/** The deliveries of an event, oldest first. */
export async function listDeliveriesOfEvent(
  db: Queryable,
  eventId: EventId,
  limit: number,
): Promise<DeliveryLine[]> {
  // "offset 0" keeps the planner from walking the primary key in order until it meets the event.
  const { rows } = await db.query<DeliveryLine>(
    `select ${LINE} from (select * from webhook_deliveries where event_id = $1 offset 0) d
     join webhook_endpoints e on e.id = d.endpoint_id order by d.id limit $2`,
    [eventId, limit],
  )
  return rows
}

/** The newest deliveries of an endpoint. */
export async function listDeliveriesOfEndpoint(
  db: Queryable,
  endpointId: EndpointId,
  limit: number,
): Promise<DeliveryLine[]> {
  const { rows } = await db.query<DeliveryLine>(
    `select ${LINE} from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
     where d.endpoint_id = $1 order by d.created_at desc, d.id desc limit $2`,
    [endpointId, limit],
  )
  return rows
}

export type EndpointReport = {
  id: EndpointId
  accountId: string
  url: string
  events: string[]
  status: EndpointStatus
  consecutiveFailures: number
  failingSince: Date | null
  disabledAt: Date | null
  disabledReason: FailureReason | null
  createdAt: Date
  deletedAt: Date | null
}

const ENDPOINT = `e.id, e.account_id as "accountId", e.url, e.events, e.status, e.consecutive_failures as "consecutiveFailures",
  e.failing_since as "failingSince", e.disabled_at as "disabledAt", e.disabled_reason as "disabledReason",
  e.created_at as "createdAt", e.deleted_at as "deletedAt"`

/** An endpoint of any account, deleted ones included, without its secret. */
export async function findEndpointReport(db: Queryable, id: EndpointId): Promise<EndpointReport | null> {
  const { rows } = await db.query<EndpointReport>(
    `select ${ENDPOINT} from webhook_endpoints e where e.id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** How many endpoints are checked for failures. This bounds the cost of a page while thousands of them fail. */
const MAX_LOOKED_AT = 1000

/**
 * Active endpoints whose last attempt failed, worst first. Failure counts are not indexed, because every attempt changes them. But an
 * endpoint with failures has a delivery that waits or has failed, so this walks both indexes of such deliveries from one endpoint to
 * the next.
 */
export async function listFailingEndpoints(db: Queryable, limit: number): Promise<EndpointReport[]> {
  const { rows } = await db.query<EndpointReport>(
    `with recursive ${walk('waiting', 'd.next_attempt_at is not null')}, ${walk('failed', 'd.failed')}
     select ${ENDPOINT} from webhook_endpoints e
     where e.id = any (array(select id from waiting union select id from failed))
       and e.status = 1 and e.deleted_at is null and e.consecutive_failures > 0
     order by e.consecutive_failures desc, e.id limit $1`,
    [limit],
  )
  return rows
}

const walk = (name: string, condition: string): string => {
  const next = (after: string) => `(select d.endpoint_id from webhook_deliveries d
    where ${condition} and d.endpoint_id > ${after} order by d.endpoint_id limit 1)`
  return `${name} (id, step) as (
    select ${next('0')}, 1
    union all
    select ${next(`${name}.id`)}, step + 1 from ${name} where ${name}.id is not null and step < ${MAX_LOOKED_AT}
  )`
}

export type AccountEvent = { id: EventId; type: string; createdAt: Date }

/** The newest dispatched events of an account, without test events. */
export async function listEventsOfAccount(
  db: Queryable,
  accountId: string,
  limit: number,
): Promise<AccountEvent[]> {
  const { rows } = await db.query<AccountEvent>(
    `select v.id, v.type, v.created_at as "createdAt" from unnest($2::text[]) as known (type)
     cross join lateral (
       select id, type, created_at from webhook_events
       where account_id = $1 and type = known.type and state = 'dispatched' and target_endpoint_id is null
       order by created_at desc, id desc limit $3
     ) v order by v.created_at desc, v.id desc limit $3`,
    [accountId, eventTypes, limit],
  )
  return rows
}
