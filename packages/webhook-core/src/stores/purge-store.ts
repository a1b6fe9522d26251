import type { Queryable } from '@signet/db'
import { ERASED_SECRETS } from './erased-secrets.js'
import type { RecordingRef } from './recording-store.js'

/**
 * Deletes a recording, the bodies of its events, and cancels their pending deliveries. An attempt in flight still records its result.
 * What became pending while the first statement waited for an event is cancelled by a second. A concurrent dispatch either finds
 * the event purged, or its new deliveries find no body and end the same way.
 */
export async function purgeRecording(
  db: Queryable,
  { accountId, audioId }: RecordingRef,
): Promise<{ purgedEvents: number; cancelledDeliveries: number }> {
  const { rows } = await db.query<{ purged: number; cancelled: number }>(
    `with recording as (delete from recordings where account_id = $1 and audio_id = $2),
     transcript as (delete from transcripts where account_id = $1 and audio_id = $2),
     summary as (delete from summaries where account_id = $1 and audio_id = $2),
     event as (
       update webhook_events set state = 'purged', body = null
       -- By ascending id (packages/webhook-core/README.md#lock-order).
       where id = any (array(
         select id from webhook_events where account_id = $1 and audio_id = $2 and state <> 'purged'
         order by id for update
       ))
       returning id
     ),
     -- Endpoints before deliveries, for the same reason.
     endpoint as materialized (
       select id from webhook_endpoints where account_id = $1 and deleted_at is null order by id for no key update
     ),
     cancelled as (
       update webhook_deliveries set status = 2, last_error = 'recording_deleted', next_attempt_at = null
       where event_id = any (array(select id from event)) and status = 0
         and (select count(*) from endpoint) >= 0
       returning id
     ),
     -- A receiver may have sent back what it got.
     answer as (
       update webhook_attempts set answer = null
       where answer is not null and delivery_id = any (array(
         select id from webhook_deliveries where event_id = any (array(select id from event))
       ))
     )
     select (select count(*)::integer from event) as purged, (select count(*)::integer from cancelled) as cancelled`,
    [accountId, audioId],
  )
  const { purged = 0, cancelled = 0 } = rows[0] ?? {}
  if (purged === 0) return { purgedEvents: 0, cancelledDeliveries: 0 }
  const { rowCount } = await db.query(
    `update webhook_deliveries set status = 2, last_error = 'recording_deleted', next_attempt_at = null
     where status = 0 and id = any (array(
       select d.id from webhook_events v join webhook_deliveries d on d.event_id = v.id
       where v.account_id = $1 and v.audio_id = $2 and d.status = 0
       order by d.id
     ))`,
    [accountId, audioId],
  )
  return { purgedEvents: purged, cancelledDeliveries: cancelled + (rowCount ?? 0) }
}

/**
 * Deletes the endpoints of an account, so that nothing is sent for it any more. Call it after `writeTombstone`, so that none can be
 * added later.
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
 * Stops an account before its events are deleted: purges those that wait for their dispatch, deletes its endpoints and recordings,
 * and cancels pending deliveries. Call it after `writeTombstone`. Each statement handles one batch, so that no amount of rows
 * runs into the time limit of a statement; a repeated call finishes what was interrupted.
 */
export async function closeAccount(db: Queryable, accountId: string): Promise<void> {
  // Events before endpoints (packages/webhook-core/README.md#lock-order).
  while ((await purgeQueuedEvents(db, accountId)) > 0);
  await endAccountEndpoints(db, accountId)
  while ((await cancelPendingDeliveries(db, accountId)) > 0);
  for (const table of ['recordings', 'transcripts', 'summaries'])
    while ((await deleteRows(db, table, accountId)) > 0);
}

const ROWS = 1000
/** A text has up to 32 MiB, in many rows of a table behind its own. */
const TEXTS = 100

async function purgeQueuedEvents(db: Queryable, accountId: string): Promise<number> {
  const { rowCount } = await db.query(
    `update webhook_events set state = 'purged', body = null
     where id = any (array(
       select id from webhook_events where account_id = $1 and state = 'queued' order by id limit $2 for update
     ))`,
    [accountId, TEXTS],
  )
  return rowCount ?? 0
}

/** Returns how many it found pending. Some of them may have ended while it waited. */
async function cancelPendingDeliveries(db: Queryable, accountId: string): Promise<number> {
  const { rows } = await db.query<{ found: number }>(
    // Endpoints before deliveries (packages/webhook-core/README.md#lock-order).
    `with endpoint as materialized (
       select id from webhook_endpoints where account_id = $1 and deleted_at is not null order by id for no key update
     ), pending as materialized (
       select id from webhook_pending_deliveries
       where endpoint_id = any (array(select id from endpoint)) order by id limit $2
     ), cancelled as (
       update webhook_deliveries set status = 2, last_error = 'endpoint_deleted', next_attempt_at = null
       where status = 0 and id = any (array(select id from pending))
     )
     select count(*)::integer as found from pending`,
    [accountId, ROWS],
  )
  return rows[0]?.found ?? 0
}

/** Nobody else writes rows of a deleted account, so they stay where they were found. */
async function deleteRows(db: Queryable, table: string, accountId: string): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${table} where ctid = any (array(select ctid from ${table} where account_id = $1 limit $2))`,
    [accountId, TEXTS],
  )
  return rowCount ?? 0
}

/**
 * Deletes up to `limit` events of a closed account with their deliveries and attempts. Repeat until it returns 0, then call
 * `deleteAccountEndpoints`. Works in batches because an account may have millions. Waits for a dispatch that holds one of
 * them: skipped, the event would stay.
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

/** Deletes the endpoints of a closed account, once its events are gone. */
export async function deleteAccountEndpoints(db: Queryable, accountId: string): Promise<void> {
  await db.query(`delete from webhook_endpoints where account_id = $1 and deleted_at is not null`, [
    accountId,
  ])
}
