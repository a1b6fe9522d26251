import type { Queryable } from '@signet/db'
import type { EndpointId } from '../ids.js'
import { cancelBacklog, type BacklogPosition } from './backlog-store.js'
import { ERASED_SECRETS } from './erased-secrets.js'
import { typesOutlivingRecordings, type EventCatalogue } from '../events/catalogue.js'
import type { RecordingRef } from '../recordings/recording-content.js'

/**
 * Which deliveries of a purged event get its reason: those that are pending, and those that were cancelled before. An attempt of either may
 * be in flight, and the statement that records it keeps no response of a delivery with this reason.
 */
const ENDED_BY_PURGE = `(status = 0 or status = 2 and last_error in ('endpoint_disabled', 'endpoint_deleted'))`

/**
 * Deletes a recording, purges its events except those of types that outlive it, and cancels their pending deliveries. An attempt in
 * flight still records its result. A second statement sees what was written while the first one waited for locks: it cancels deliveries
 * that became pending, and deletes what receivers answered. A concurrent dispatch either finds the event purged, or its new deliveries
 * find no body and end the same way.
 */
export async function purgeRecording(
  db: Queryable,
  { accountId, audioId }: RecordingRef,
  definitions?: EventCatalogue,
): Promise<{ purgedEvents: number; cancelledDeliveries: number }> {
  const outlivingTypes = typesOutlivingRecordings(definitions)
  const { rows } = await db.query<{ purged: number; cancelled: number }>(
    `with recording as (delete from recordings where account_id = $1 and audio_id = $2),
     transcript as (delete from transcripts where account_id = $1 and audio_id = $2),
     summary as (delete from summaries where account_id = $1 and audio_id = $2),
     event as (
       update webhook_events set state = 'purged', body = null
       -- By ascending id (packages/webhook-core/README.md#lock-order).
       where id = any (array(
         select id from webhook_events
         where account_id = $1 and audio_id = $2 and state <> 'purged' and type <> all ($3::text[])
         order by id for update
       ))
       returning id
     ),
     -- Endpoints before deliveries, for the same reason.
     endpoint as materialized (
       select id from webhook_endpoints where account_id = $1 and deleted_at is null order by id for no key update
     ),
     delivery as materialized (
       select id, status from webhook_deliveries
       where event_id = any (array(select id from event)) and (select count(*) from endpoint) >= 0
       order by id for no key update
     ),
     ended as (
       update webhook_deliveries set status = 2, last_error = 'recording_deleted', next_attempt_at = null
       where id = any (array(select id from delivery)) and ${ENDED_BY_PURGE}
     )
     select (select count(*)::integer from event) as purged,
       (select count(*)::integer from delivery where status = 0) as cancelled`,
    [accountId, audioId, outlivingTypes],
  )
  const { purged = 0, cancelled = 0 } = rows[0] ?? {}
  if (purged === 0) return { purgedEvents: 0, cancelledDeliveries: 0 }
  const later = await db.query<{ cancelled: number }>(
    `with event as materialized (
       select id from webhook_events where account_id = $1 and audio_id = $2 and type <> all ($3::text[])
     ),
     delivery as materialized (
       select id, status from webhook_deliveries
       where event_id = any (array(select id from event)) and ${ENDED_BY_PURGE}
       order by id for no key update
     ),
     ended as (
       update webhook_deliveries set status = 2, last_error = 'recording_deleted', next_attempt_at = null
       where id = any (array(select id from delivery))
     ),
     -- A receiver may have sent back what it got.
     answer as (
       update webhook_attempts set answer = null
       where answer is not null and (select count(*) from delivery) >= 0 and delivery_id = any (array(
         select id from webhook_deliveries where event_id = any (array(select id from event))
       ))
     )
     select count(*)::integer as cancelled from delivery where status = 0`,
    [accountId, audioId, outlivingTypes],
  )
  return { purgedEvents: purged, cancelledDeliveries: cancelled + (later.rows[0]?.cancelled ?? 0) }
}

/**
 * Deletes the endpoints of an account, so that nothing more is sent for it. Call it after `writeTombstone`, so that none can be added
 * later.
 */
export async function endAccountEndpoints(db: Queryable, accountId: string): Promise<void> {
  await db.query(
    `update webhook_endpoints
     set deleted_at = now(), updated_at = clock_timestamp(), ${ERASED_SECRETS}
     where id = any (array(
       select id from webhook_endpoints where account_id = $1 and deleted_at is null order by id for no key update
     ))`,
    [accountId],
  )
}

/**
 * Stops an account before its events are deleted: purges events that wait to be dispatched, deletes its endpoints and recordings, and
 * cancels pending deliveries. Call it after `writeTombstone`. Each statement handles one page and continues where the previous one
 * ended; a repeated call finishes what was interrupted. Deliveries have no foreign keys that could cascade (decision 0120).
 */
export async function closeAccount(db: Queryable, accountId: string): Promise<void> {
  // Events before endpoints (packages/webhook-core/README.md#lock-order).
  for (let after: string | null = ''; after !== null;) after = await purgeQueuedEvents(db, accountId, after)
  await endAccountEndpoints(db, accountId)
  for (const id of await endpointsOf(db, accountId))
    for (let page: { next: BacklogPosition | null } | undefined; page?.next !== null;)
      page = await cancelBacklog(db, id, page?.next ?? null, ROWS)
  for (const table of ['recordings', 'transcripts', 'summaries'])
    while ((await deleteRows(db, table, accountId)) > 0);
}

const ROWS = 1000
/** Rows per statement for texts. A text can have up to 32 MiB, in many rows of its table's TOAST table. */
const TEXTS = 100

/** Purges one page and returns where the next one starts. Looks only at queued events: the account may have millions of others. */
async function purgeQueuedEvents(db: Queryable, accountId: string, after: string): Promise<string | null> {
  const { rows } = await db.query<{ last: string | null }>(
    // "offset 0" fixes the plan: walk through the queued events of all accounts in order, and look up the account of each. Without it,
    // PostgreSQL may read every event of the account, or sort everything that is queued, for each page.
    `with found as materialized (
       select id from (select event_id as id from webhook_queued_events where event_id > $2 order by event_id offset 0) queued
       where exists (select from webhook_events v where v.id = queued.id and v.account_id = $1 offset 0)
       order by id limit $3
     ), event as materialized (
       select id from webhook_events where id = any (array(select id from found)) order by id for update
     ), purged as (
       update webhook_events set state = 'purged', body = null
       where id = any (array(select id from event)) and state = 'queued'
     )
     select max(id) as last from found`,
    [accountId, after, TEXTS],
  )
  return rows[0]?.last ?? null
}

async function endpointsOf(db: Queryable, accountId: string): Promise<EndpointId[]> {
  const { rows } = await db.query<{ id: EndpointId }>(
    'select id from webhook_endpoints where account_id = $1 and deleted_at is not null order by id',
    [accountId],
  )
  return rows.map(({ id }) => id)
}

/**
 * Selects rows by ctid, their physical position, which requires no key. Positions cannot change in the meantime, because nobody writes
 * rows of a deleted account.
 */
async function deleteRows(db: Queryable, table: string, accountId: string): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${table} where ctid = any (array(select ctid from ${table} where account_id = $1 limit $2))`,
    [accountId, TEXTS],
  )
  return rowCount ?? 0
}

/**
 * Deletes up to `limit` events of a closed account with their deliveries and attempts. Repeat until it returns 0, then call
 * `deleteAccountEndpoints`. Works in batches because an account may have millions of events. Waits for a dispatch that holds one of
 * them: if it were skipped, the event would stay.
 */
export async function deleteAccountEvents(db: Queryable, accountId: string, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    // Results of attempts in flight may still arrive, so the order matters (packages/webhook-core/README.md#lock-order).
    `with event as materialized (
       select id from webhook_events where account_id = $1 order by id limit $2 for update
     ),
     endpoint as materialized (
       select id from webhook_endpoints
       where account_id = $1 and deleted_at is not null and (select count(*) from event) >= 0
       order by id for no key update
     )
     delete from webhook_events where id in (select id from event) and (select count(*) from endpoint) >= 0`,
    [accountId, limit],
  )
  return rowCount ?? 0
}

/** Deletes the endpoints of a closed account after its events have been deleted. */
export async function deleteAccountEndpoints(db: Queryable, accountId: string): Promise<void> {
  await db.query(`delete from webhook_endpoints where account_id = $1 and deleted_at is not null`, [
    accountId,
  ])
}
