import type { Queryable, Tx } from '@signet/db'
import { firstEventIdAt, type EventId } from '@signet/webhook-core'

/** `last`: the newest event that the batch looked at, null if there was none. */
export type DeletedEvents = { count: number; last: EventId | null }

/** Event `e` has no delivery that is pending or younger than $1. Not "not exists": that may become a join that reads all deliveries. */
const IS_OVER = `(
    select d.id from webhook_deliveries d where d.event_id = e.id and (d.status = 0 or d.created_at >= $1) limit 1
  ) is null`

/**
 * Retention: deletes up to `limit` of the oldest events created before `before`, with their deliveries and attempts. Ids start
 * with the time, so the oldest events come first in the primary key. An accepted event stays until it
 * is dispatched and none of its deliveries is pending, and then until all of its deliveries are old enough, so that their
 * outcome can be seen. Rows in use are left for the next run: a batch and the result of an attempt never wait for each other.
 *
 * Begins after `after`, where the previous batch ended. Deleted rows stay in the index until the table is vacuumed, which happens
 * to a large table every few days: a batch that began at the start would read past all of them.
 */
export async function deleteOldEvents(
  tx: Tx,
  before: Date,
  limit: number,
  after: EventId | null = null,
): Promise<DeletedEvents> {
  const { rows } = await tx.query<{ id: EventId }>(
    `select e.id from webhook_events e
     where e.id < $2 and e.id > $4 and e.state <> 'queued' and ${IS_OVER}
     order by e.id limit $3 for update of e skip locked`,
    [before, firstEventIdAt(before), limit, after ?? ''],
  )
  const ids = rows.map(({ id }) => id)
  // Checks again: a replay that was committed after the statement above began, and before it locked the event, is seen only from here on.
  const { rowCount } = await tx.query(
    `delete from webhook_events e where e.id = any ($2::text[]) and ${IS_OVER}`,
    [before, ids],
  )
  return { count: rowCount ?? 0, last: ids.at(-1) ?? null }
}

/** Retention: deletes up to `limit` endpoints that were deleted before `before` and have no deliveries left. */
export async function deleteOldEndpoints(db: Queryable, before: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from webhook_endpoints where id in (
       select e.id from webhook_endpoints e
       where e.deleted_at < $1
         -- Not "not exists": that may become a join, which reads all deliveries there are. The order is that of their index.
         and (
           select d.id from webhook_deliveries d where d.endpoint_id = e.id
           order by d.created_at desc, d.id desc limit 1
         ) is null
         and not exists (select from webhook_events v where v.target_endpoint_id = e.id)
       order by e.deleted_at limit $2 for update skip locked
     )`,
    [before, limit],
  )
  return rowCount ?? 0
}
