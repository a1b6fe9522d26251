import type { Queryable } from '@signet/db'

export type Backlog = {
  /** Pending deliveries, counted up to 100,000. */
  pending: number
  /** Pending deliveries that are due, including first attempts that their process seems to have abandoned. */
  due: number
  /** When the oldest of them became due. */
  oldestDueAt: Date | null
}

/** First attempts have no due time and take a few seconds. One that is open for longer counts as abandoned. */
const ABANDONED_SECONDS = 15

/** The backlog in the table, for gauges. Counting stops at 100,000 so that scrapes stay fast during an outage. */
export async function readBacklog(db: Queryable, now: Date): Promise<Backlog> {
  const { rows } = await db.query<{ pending: number; due: number; oldest_due_at: Date | null }>(
    `with abandoned as (
       select f.since from webhook_first_attempts f
       join webhook_deliveries d on d.event_id = f.event_id and d.status = 0 and d.next_attempt_at is null
       where f.since < $1::timestamptz - make_interval(secs => $2)
       limit 100000
     )
     select
       (select count(*)::integer from (
         select from webhook_pending_deliveries limit 100000) as p) as pending,
       (select count(*)::integer from (
         select from webhook_deliveries where next_attempt_at <= $1
         union all
         select from abandoned
         limit 100000) as d) as due,
       least(
         (select next_attempt_at from webhook_deliveries
          where next_attempt_at <= $1 order by next_attempt_at limit 1),
         (select min(since) from abandoned)) as oldest_due_at`,
    [now, ABANDONED_SECONDS],
  )
  const [row] = rows
  return { pending: row?.pending ?? 0, due: row?.due ?? 0, oldestDueAt: row?.oldest_due_at ?? null }
}

export type Undispatched = { events: number; oldestAt: Date | null }

/** Accepted events that are not dispatched yet, counted up to 100,000. */
export async function readUndispatched(db: Queryable): Promise<Undispatched> {
  const { rows } = await db.query<{ events: number; oldest_at: Date | null }>(
    `select
       (select count(*)::integer from (
         select from webhook_queued_events limit 100000) as q) as events,
       (select e.created_at from webhook_queued_events q join webhook_events e on e.id = q.event_id
        order by q.event_id limit 1) as oldest_at`,
  )
  return { events: rows[0]?.events ?? 0, oldestAt: rows[0]?.oldest_at ?? null }
}

/** The number of disabled endpoints, for the gauge. */
export async function countDisabledEndpoints(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from webhook_endpoints where status = 2 and deleted_at is null`,
  )
  return rows[0]?.count ?? 0
}
