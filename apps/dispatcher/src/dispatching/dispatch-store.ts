import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId, EventId, EventType } from '@signet/webhook-core'
import { SECRETS_NOW } from '@signet/webhook-core/stores'
import {
  ACCOUNT_STATE,
  toSnapshot,
  type DeliverySnapshot,
  type SnapshotRow,
} from '../deliveries/delivery-store.js'
import type { QueuedEvent } from '../events/event-store.js'

/** `body`: what was prepared for an event that came without one. */
export type EventToDispatch = { id: EventId; body?: string | Uint8Array; unconverted?: string | null }

/**
 * A delivery that an earlier run left pending. `dueAt` is null until it is scheduled. `isHeld`: it is due when the ban of its
 * account ends.
 */
export type UnfinishedDelivery = {
  id: DeliveryId
  endpointId: EndpointId
  accountId: string
  eventId: EventId
  dueAt: Date | null
  isHeld: boolean
}

/** `body`: as it was stored before; null if it was passed in. */
export type DispatchedEvent = {
  id: EventId
  type: EventType
  createdAt: Date
  body: Buffer | null
}

export type Dispatched = {
  /** What this call dispatched. */
  events: DispatchedEvent[]
  /** New deliveries, ready for their first attempt. */
  created: DeliverySnapshot[]
  /** Deliveries of the same event that an earlier run created and that have not ended. */
  unfinished: UnfinishedDelivery[]
  /** Queued events that have no body yet. */
  unprepared: QueuedEvent[]
  /** Left out, because someone has locked them. */
  locked: EventId[]
}

type Row = SnapshotRow & {
  kind: 'event' | 'created' | 'unfinished' | 'unprepared' | 'locked'
  body: string | null
  audio_id: string | null
  target_endpoint_id: EndpointId | null
  is_given: boolean | null
  given_summary_bytes: number | null
}

/**
 * Creates one pending delivery per matching active endpoint for each of many events, in one statement, and freezes the bodies
 * that were prepared for them; a body that an event already has stays and is returned. The caller makes the first attempts:
 * until it calls `concludeFirstAttempts`, the events are in `webhook_first_attempts`. Idempotent: an event that is no longer
 * queued keeps its body, and the result lists its unfinished deliveries. Waits for no lock, because the events of others are in the
 * same statement.
 */
export async function dispatchEvents(
  db: Queryable,
  events: readonly EventToDispatch[],
  now: Date,
): Promise<Dispatched> {
  if (events.length === 0) return { events: [], created: [], unfinished: [], unprepared: [], locked: [] }
  const prepared = events.filter(({ body }) => body !== undefined)
  // One statement for each power of two, padded with nulls. One for each size would have to be planned all the time.
  const size = prepared.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(prepared.length))
  const { rows } = await db.query<Row>({ name: `dispatch-events-${size}`, text: dispatchStatement(size) }, [
    now,
    events.map(({ id }) => id),
    prepared.map(({ id }) => id),
    ...prepared.flatMap(({ id, body, unconverted }) => [id, body, unconverted ?? null]),
    ...Array<null>(3 * (size - prepared.length)).fill(null),
  ])
  const of = (kind: Row['kind']) => rows.filter((row) => row.kind === kind)
  return {
    events: of('event').map((row) => ({
      id: row.event_id,
      type: row.event_type,
      createdAt: row.created_at,
      body: row.body === null ? null : Buffer.from(row.body),
    })),
    created: of('created').map(toSnapshot),
    unfinished: of('unfinished').map(
      ({ id, endpoint_id, account_id, event_id, next_attempt_at: dueAt, held_until }) => ({
        id,
        endpointId: endpoint_id,
        accountId: account_id,
        eventId: event_id,
        dueAt,
        isHeld: dueAt !== null && dueAt.getTime() === held_until?.getTime(),
      }),
    ),
    unprepared: of('unprepared').map((row) => ({
      id: row.event_id,
      accountId: row.account_id,
      type: row.event_type,
      audioId: row.audio_id,
      targetEndpointId: row.target_endpoint_id,
      createdAt: row.created_at,
      given: row.is_given ? { summaryBytes: row.given_summary_bytes } : undefined,
    })),
    locked: of('locked').map(({ event_id }) => event_id),
  }
}

function dispatchStatement(size: number): string {
  // Scalar parameters, because array elements would have to be escaped and parsed again, a mebibyte each. The ids are passed
  // again as arrays: referring to prepared twice would write all bodies to a temporary file.
  const values = Array.from(
    { length: size },
    (_, i) => `($${3 * i + 4}::text, $${3 * i + 5}::text, $${3 * i + 6}::text)`,
  )
  const prepared =
    size === 0 ? 'select null::text, null::text, null::text where false' : `values ${values.join(', ')}`
  return `
    with prepared (id, body, unconverted) as (${prepared}),
    -- Not "state = 'queued'": the planner might then scan the whole backlog, which is cheap only while it is short.
    queued as materialized (
      select id from webhook_events
      where id = any ($2::text[]) and state not in ('dispatched', 'purged')
        and (body is not null or id = any ($3::text[]))
      for update skip locked
    ),
    frozen_now as (
      update webhook_events e set state = 'dispatched', body = prepared.body, unconverted = prepared.unconverted,
        dispatched_at = now()
      from prepared
      where e.id = prepared.id and e.body is null and e.id = any (array(select id from queued))
      returning e.id, e.account_id, e.type, e.target_endpoint_id, e.created_at, null::text as body
    ),
    frozen_before as (
      update webhook_events e set state = 'dispatched', dispatched_at = now()
      where e.id = any (array(select id from queued)) and e.body is not null
      returning e.id, e.account_id, e.type, e.target_endpoint_id, e.created_at, e.body
    ),
    event as (
      select id, account_id, type, target_endpoint_id from frozen_now
      union all select id, account_id, type, target_endpoint_id from frozen_before
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
    select 'created' as kind, d.id, d.event_id, d.event_type, 0::smallint as status, 0 as attempts,
      null::timestamptz as next_attempt_at, d.created_at, 'dispatched' as event_state, e.id as endpoint_id, e.account_id,
      e.url, e.url_version, e.status as endpoint_status, a.deleted_at is not null as deleted, a.banned_until as held_until,
      ${SECRETS_NOW}, null::text as body, null::text as audio_id, null::bigint as target_endpoint_id,
      null::boolean as is_given, null::integer as given_summary_bytes
    from created d join webhook_endpoints e on e.id = d.endpoint_id
    ${ACCOUNT_STATE}
    union all
    select 'event', null, f.id, f.type, null, null, null, f.created_at, 'dispatched', null, f.account_id,
      null, null, null, null, null, null, null, null, null, f.body, null, null, null, null
    from (select * from frozen_now union all select * from frozen_before) f
    union all
    -- Both are skipped when every event was dispatched just now, which is nearly always the case.
    select 'unfinished', d.id, d.event_id, d.event_type, d.status, d.attempts, d.next_attempt_at, d.created_at, 'dispatched',
      d.endpoint_id, v.account_id, null, null, null, null,
      (select s.banned_until from account_states s where s.account_id = v.account_id), null, null, null, null, null, null, null, null, null
    from webhook_deliveries d cross join lateral (
      select v.account_id from webhook_events v where v.id = d.event_id offset 0
    ) v
    where (select count(*) from event) < cardinality($2::text[]) and d.event_id = any ($2::text[]) and d.status = 0
    union all
    select 'unprepared', null, v.id, v.type, null, null, null, v.created_at, v.state, null, v.account_id,
      null, null, null, null, null, null, null, null, null, null, v.audio_id, v.target_endpoint_id,
      -- Neither reads the parts.
      q.given_recording is not null or q.given_transcript is not null or q.given_summaries is not null,
      octet_length(q.given_summaries)
    from webhook_events v left join lateral (
      select q.given_recording, q.given_transcript, q.given_summaries
      from webhook_queued_events q where q.event_id = v.id offset 0
    ) q on true
    where (select count(*) from event) < cardinality($2::text[])
      and v.id = any ($2::text[]) and v.id <> all ($3::text[])
      and v.state not in ('dispatched', 'purged') and v.body is null
    union all
    select 'locked', null, v.id, null, null, null, null, null, null, null, null,
      null, null, null, null, null, null, null, null, null, null, null, null, null, null
    from webhook_events v
    where (select count(*) from event) < cardinality($2::text[]) and v.id = any ($2::text[])
      and v.state not in ('dispatched', 'purged') and (v.body is not null or v.id = any ($3::text[]))
      and v.id <> all (array(select id from queued))`
}
