import type { Queryable } from '@signet/db'
import { firstEventIdAt, type EventId } from '@signet/webhook-core'

/** `last`: the newest of them, null if there are none. */
export type DeletedEvents = { count: number; last: EventId | null }

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
  db: Queryable,
  before: Date,
  limit: number,
  after: EventId | null = null,
): Promise<DeletedEvents> {
  const { rows } = await db.query<DeletedEvents>(
    // Neither "in" nor "not exists": those may become joins that read all events and deliveries there are.
    `with deleted as (delete from webhook_events where id = any (array(
       select e.id from webhook_events e
       where e.id < $1 and e.id > $4 and e.state <> 'queued'
         and (
           select d.id from webhook_deliveries d
           where d.event_id = e.id and (d.status = 0 or d.created_at >= $2) limit 1
         ) is null
       order by e.id limit $3 for update of e skip locked
     )) returning id)
     select count(*)::integer as count, max(id) as last from deleted`,
    [firstEventIdAt(before), before, limit, after ?? ''],
  )
  return rows[0] ?? { count: 0, last: null }
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
