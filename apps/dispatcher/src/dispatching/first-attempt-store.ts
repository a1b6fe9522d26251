import type { Queryable } from '@signet/db'
import type { DeliveryId, EventId } from '@signet/webhook-core'
import { SECRETS_NOW } from '@signet/webhook-core/stores'
import {
  ACCOUNT_STATE,
  toSnapshot,
  type DeliverySnapshot,
  type SnapshotRow,
} from '../deliveries/delivery-store.js'
import type { DispatchedEvent } from './dispatch-store.js'

/** An event whose deliveries can be attempted before they have rows. */
export type EventSnapshot = Omit<DispatchedEvent, 'body'> & { body: Buffer; deliveries: DeliverySnapshot[] }

type Row = SnapshotRow & { body: string | null; event_created_at: Date }

// "offset 0" keeps the planner from turning a lookup for each event into a join, whose size it cannot estimate. It is not
// "state = 'queued'" because the planner might then read the whole backlog.
const EVENT_SNAPSHOTS = {
  name: 'find-event-snapshots',
  text: `
  select nextval('webhook_deliveries_id_seq') as id, v.id as event_id, v.type as event_type, 0::smallint as status, 0 as attempts,
    null::timestamptz as next_attempt_at, now() as created_at, 'dispatched' as event_state, e.id as endpoint_id, e.account_id,
    e.url, e.url_version, e.status as endpoint_status, a.deleted_at is not null as deleted, a.banned_until as held_until,
    ${SECRETS_NOW}, case when e.nth = 1 then v.body end as body, v.created_at as event_created_at
  from webhook_events v cross join lateral (
    select e.id, e.account_id, e.url, e.url_version, e.status, e.secret_ciphertext, e.secret_key_id, e.next_secret_ciphertext,
      e.next_secret_key_id, e.next_secret_active_at, row_number() over () as nth
    from webhook_endpoints e
    where e.account_id = v.account_id and e.deleted_at is null and e.status = 1
      and case when v.target_endpoint_id is null then v.type = any (e.events) else e.id = v.target_endpoint_id end
    offset 0
  ) e
  ${ACCOUNT_STATE}
  where v.id = any ($1::text[]) and v.state not in ('dispatched', 'purged') and v.body is not null
    and not exists (select from webhook_deliveries d where d.event_id = v.id offset 0)`,
}

/**
 * Reads what the first attempts of these events need, and writes nothing: one snapshot for each matching active endpoint, with the
 * id that the delivery's row will have. Leaves out events that are not queued, have no body, no matching endpoint, or any
 * delivery already.
 */
export async function findEventSnapshots(db: Queryable, ids: readonly EventId[]): Promise<EventSnapshot[]> {
  const { rows } = await db.query<Row>(EVENT_SNAPSHOTS, [ids])
  const events = new Map<EventId, EventSnapshot>()
  for (const row of rows) {
    const { event_id: id, event_type: type, event_created_at: createdAt, body } = row
    if (body !== null) events.set(id, { id, type, createdAt, body: Buffer.from(body), deliveries: [] })
    events.get(id)?.deliveries.push(toSnapshot(row))
  }
  return [...events.values()]
}

/** `written`: whose deliveries all have rows. `locked`: left out, because someone has locked them. All others are purged or gone. */
export type WrittenEvents = { written: ReadonlySet<EventId>; locked: ReadonlySet<EventId> }

/**
 * Inserts the missing rows of these deliveries as pending and makes their events dispatched. The caller continues with the first
 * attempts: until it calls `concludeFirstAttempts`, the events are in `webhook_first_attempts`. A delivery that has a row keeps it.
 * Nothing is written for an event that was purged or is gone, and with `skipLocked` for one that someone has locked. Throws a unique
 * violation if one of the ids belongs to another delivery.
 */
export async function writeDeliveries(
  db: Queryable,
  snapshots: readonly DeliverySnapshot[],
  now: Date,
  { skipLocked = false } = {},
): Promise<WrittenEvents> {
  const { rows } = await db.query<{ id: EventId; is_written: boolean }>(
    {
      name: skipLocked ? 'write-deliveries-skip-locked' : 'write-deliveries',
      // Events before deliveries (packages/webhook-core/README.md#lock-order).
      text: `
      with delivery as (
        select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[])
          as p (id, endpoint_id, event_id, event_type, created_at)
      ),
      event as materialized (
        select id from webhook_events where id = any ($3::text[]) and state <> 'purged' order by id
        for no key update${skipLocked ? ' skip locked' : ''}
      ),
      dispatched as (
        update webhook_events set state = 'dispatched', dispatched_at = now()
        where id = any (array(select id from event)) and state not in ('dispatched', 'purged')
      ),
      written as (
        insert into webhook_deliveries (id, endpoint_id, event_id, event_type, created_at) overriding system value
        select p.id, p.endpoint_id, p.event_id, p.event_type, p.created_at
        from delivery p join event on event.id = p.event_id
        order by p.id
        on conflict (event_id, endpoint_id, replay) do nothing
        returning event_id
      ),
      listed as (
        insert into webhook_first_attempts (event_id, since)
        select distinct event_id, $6::timestamptz from written
        on conflict (event_id) do nothing
      )
      select id, true as is_written from event
      union all
      select id, false from webhook_events
      where id = any ($3::text[]) and state <> 'purged' and id <> all (array(select id from event))`,
    },
    [
      snapshots.map(({ id }) => id),
      snapshots.map(({ endpoint }) => endpoint.id),
      snapshots.map(({ eventId }) => eventId),
      snapshots.map(({ eventType }) => eventType),
      snapshots.map(({ createdAt }) => createdAt),
      now,
    ],
  )
  const idsOf = (isWritten: boolean) =>
    new Set(rows.flatMap(({ id, is_written }) => (is_written === isWritten ? id : [])))
  // A statement that waits for a purge still sees the event as it was before.
  return { written: idsOf(true), locked: skipLocked ? idsOf(false) : new Set() }
}

/**
 * Schedules pending deliveries whose first attempt was not made under the event's job, due at `now`. Deliveries that are
 * already scheduled keep their time. Call it before `concludeFirstAttempts`. Returns those that it left out because someone has locked
 * them: it waits for no lock, because deliveries of others are in the same statement.
 */
export async function scheduleDeliveries(
  db: Queryable,
  ids: readonly DeliveryId[],
  now: Date,
): Promise<ReadonlySet<DeliveryId>> {
  const { rows } = await db.query<{ id: DeliveryId }>(
    `with delivery as materialized (
       select id from webhook_deliveries
       where id = any ($1::bigint[]) and status = 0 and next_attempt_at is null
       for no key update skip locked
     ),
     scheduled as (
       update webhook_deliveries set next_attempt_at = $2
       where id = any (array(select id from delivery)) and status = 0 and next_attempt_at is null
     )
     select id from webhook_deliveries
     where id = any ($1::bigint[]) and status = 0 and next_attempt_at is null
       and id <> all (array(select id from delivery))`,
    [ids, now],
  )
  return new Set(rows.map(({ id }) => id))
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

export type OpenFirstAttempts = { id: EventId; accountId: string }

/**
 * For the sweeper: events whose first attempts began before `before`, by ascending id, starting after `after`. Most are in
 * progress. Those without a job were abandoned.
 */
export async function findOpenFirstAttempts(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: { id: EventId }; limit: number },
): Promise<OpenFirstAttempts[]> {
  const { rows } = await db.query<{ id: EventId; account_id: string }>(
    `select f.event_id as id, e.account_id
     from webhook_first_attempts f join webhook_events e on e.id = f.event_id
     where f.since < $1 and f.event_id > $2 order by f.event_id limit $3`,
    [before, after?.id ?? '', limit],
  )
  return rows.map(({ id, account_id }) => ({ id, accountId: account_id }))
}

/** Which of these events have open first attempts. */
export async function findOpenAmong(db: Queryable, ids: readonly EventId[]): Promise<ReadonlySet<EventId>> {
  const { rows } = await db.query<{ event_id: EventId }>(
    'select event_id from webhook_first_attempts where event_id = any ($1)',
    [ids],
  )
  return new Set(rows.map(({ event_id }) => event_id))
}
