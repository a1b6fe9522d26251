import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import { ACCOUNT_STATE, toPlan, type AttemptPlan, type PlanRow } from '../deliveries/delivery-store.js'
import type { FrozenEvent } from '../events/event-store.js'

/** A frozen event whose body is already UTF-8, as it is stored and sent. */
export type EncodedEvent = { id: EventId; body: Uint8Array }

/** A delivery that an earlier run left pending. `dueAt` is null until it is scheduled. */
export type UnfinishedDelivery = {
  id: DeliveryId
  endpointId: EndpointId
  eventId: EventId
  dueAt: Date | null
}

export type Dispatched = {
  /** New deliveries, ready for their first attempt. */
  created: AttemptPlan[]
  /** Deliveries of the same event that an earlier run created and that have not ended. */
  unfinished: UnfinishedDelivery[]
}

type DispatchedRow = PlanRow & { is_new: boolean }

/**
 * Freezes the bodies of many events and creates one pending delivery per matching active endpoint, in one statement. The
 * caller makes the first attempts: until it calls `concludeFirstAttempts`, the events are in `webhook_first_attempts`.
 * Idempotent: an event that is no longer queued keeps its body, and the result lists its unfinished deliveries.
 */
export async function dispatchEvents(
  db: Queryable,
  events: readonly (FrozenEvent | EncodedEvent)[],
  now: Date,
): Promise<Dispatched> {
  if (events.length === 0) return { created: [], unfinished: [] }
  // One statement for each power of two, padded with nulls. One for each size would have to be planned all the time.
  const size = 2 ** Math.ceil(Math.log2(events.length))
  const { rows } = await db.query<DispatchedRow>(
    { name: `dispatch-events-${size}`, text: dispatchStatement(size) },
    [
      now,
      events.map(({ id }) => id),
      ...events.flatMap(({ id, body }) => [id, body]),
      ...Array<null>(2 * (size - events.length)).fill(null),
    ],
  )
  return {
    created: rows.filter(({ is_new }) => is_new).map(toPlan),
    unfinished: rows
      .filter(({ is_new }) => !is_new)
      .map(({ id, endpoint_id, event_id, next_attempt_at }) => ({
        id,
        endpointId: endpoint_id,
        eventId: event_id,
        dueAt: next_attempt_at,
      })),
  }
}

function dispatchStatement(size: number): string {
  // Scalar parameters, because array elements would have to be escaped and parsed again, a mebibyte each. The ids are passed
  // again as an array: referring to frozen twice would write all bodies to a temporary file.
  const frozen = Array.from({ length: size }, (_, i) => `($${2 * i + 3}::text, $${2 * i + 4}::text)`)
  return `
    with frozen (id, body) as (values ${frozen.join(', ')}),
    -- By ascending id (packages/webhook-core/README.md#lock-order).
    -- Not "state = 'queued'": the planner might then scan the whole backlog, which is cheap only while it is short.
    queued as materialized (
      select id from webhook_events
      where id = any ($2::text[]) and state not in ('dispatched', 'purged')
      order by id for update
    ),
    event as (
      update webhook_events e set state = 'dispatched', body = frozen.body, dispatched_at = now()
      from frozen
      where e.id = frozen.id and e.id = any (array(select id from queued))
      returning e.id, e.account_id, e.type, e.target_endpoint_id
    ),
    created as (
      insert into webhook_deliveries (endpoint_id, event_id, event_type)
      select endpoint.id, event.id, event.type
      from event cross join lateral (
        select e.id from webhook_endpoints e
        where e.account_id = event.account_id and e.deleted_at is null and e.status = 1
          and case
            when event.target_endpoint_id is null then event.type = any (e.events)
            else e.id = event.target_endpoint_id
          end
        offset 0
      ) endpoint
      on conflict (event_id, endpoint_id, replay) do nothing
      returning id, endpoint_id, event_id, event_type, created_at
    ),
    noted as (
      insert into webhook_first_attempts (event_id, since)
      select distinct event_id, $1::timestamptz from created
      on conflict (event_id) do nothing
    )
    -- One lookup by key per row, as in created, where "offset 0" keeps the planner from reordering it. The planner cannot
    -- estimate the parts above, so a join of two of them would compare every row with every other.
    select true as is_new, d.id, d.event_id, d.event_type, 0::smallint as status, 0 as attempts,
      null::timestamptz as next_attempt_at, d.created_at, 'dispatched' as event_state, e.id as endpoint_id, e.account_id,
      e.url, e.url_version, e.status as endpoint_status, a.deleted_at is not null as deleted, a.banned_until as held_until,
      e.secret_ciphertext, e.secret_key_id
    from created d join webhook_endpoints e on e.id = d.endpoint_id
    ${ACCOUNT_STATE}
    union all
    select false, d.id, d.event_id, d.event_type, d.status, d.attempts, d.next_attempt_at, d.created_at, 'dispatched', d.endpoint_id,
      null, null, null, null, null, null, null, null
    from webhook_deliveries d
    -- Skipped when every event was dispatched just now, which is nearly always the case.
    where (select count(*) from event) < cardinality($2::text[]) and d.event_id = any ($2::text[]) and d.status = 0`
}

/**
 * Schedules pending deliveries whose first attempt was not made under the event's job, due at `now`. Deliveries that are
 * already scheduled keep their time. Call it before `concludeFirstAttempts`.
 */
export async function scheduleDeliveries(
  db: Queryable,
  deliveries: readonly { id: DeliveryId; endpointId: EndpointId }[],
  now: Date,
): Promise<void> {
  await db.query(
    // Endpoints before deliveries (packages/webhook-core/README.md#lock-order).
    `with endpoint as materialized (
       select id from webhook_endpoints where id = any ($2::bigint[]) order by id for no key update
     ),
     delivery as materialized (
       select id from webhook_deliveries
       where id = any ($1::bigint[]) and status = 0 and next_attempt_at is null
         and (select count(*) from endpoint) >= 0
       order by id for no key update
     )
     update webhook_deliveries set next_attempt_at = $3
     where id = any (array(select id from delivery)) and status = 0 and next_attempt_at is null`,
    [deliveries.map(({ id }) => id), deliveries.map(({ endpointId }) => endpointId), now],
  )
}

/**
 * Marks the first attempts of these events as over. Events with a delivery that has neither ended nor been scheduled stay
 * open.
 */
export async function concludeFirstAttempts(db: Queryable, ids: readonly EventId[]): Promise<void> {
  await db.query(
    {
      name: 'conclude-first-attempts',
      // A locked row is being deleted by another caller of this function.
      text: `delete from webhook_first_attempts where event_id = any (array(
        select f.event_id from webhook_first_attempts f
        where f.event_id = any ($1) and not exists (
          select from webhook_deliveries d
          where d.event_id = f.event_id and d.status = 0 and d.next_attempt_at is null
        )
        for update skip locked
      ))`,
    },
    [ids],
  )
}

/**
 * For the sweeper: events whose first attempts began before `before`, by ascending id, starting after `after`. Most are in
 * progress. Those without a job were abandoned.
 */
export async function findOpenFirstAttempts(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: { id: EventId }; limit: number },
): Promise<{ id: EventId }[]> {
  const { rows } = await db.query<{ id: EventId }>(
    `select event_id as id from webhook_first_attempts
     where since < $1 and event_id > $2 order by event_id limit $3`,
    [before, after?.id ?? '', limit],
  )
  return rows
}
