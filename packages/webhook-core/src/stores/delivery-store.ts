import { type Queryable } from '@signet/db'
import { type CancelWord } from '../delivery/error-words.js'
import { type EventType } from '../event-types.js'
import { type DeliveryId, type EndpointId, type EventId } from '../ids.js'
import { type SealedSecret } from '../signature/secret-box.js'
import { type EndpointStatus } from './endpoint-store.js'
import { type EventState } from './event-store.js'

export const deliveryStatus = { pending: 0, delivered: 1, failed: 2 } as const
export type DeliveryStatus = (typeof deliveryStatus)[keyof typeof deliveryStatus]

/** All that one attempt needs, the body excepted: that is read once per event and kept by the caller. */
export type AttemptPlan = {
  id: DeliveryId
  eventId: EventId
  eventType: EventType
  status: DeliveryStatus
  /** Attempts so far; the next one has this number plus one. */
  attempts: number
  /** When it is due; null when it has ended, and while its first attempt is in the hands of the event's job. */
  nextAttemptAt: Date | null
  createdAt: Date
  eventState: EventState
  endpoint: {
    id: EndpointId
    accountId: string
    url: string
    urlVersion: number
    status: EndpointStatus
    deleted: boolean
    /** Null for a deleted endpoint. */
    secret: SealedSecret | null
  }
}

export type PlanRow = {
  id: DeliveryId
  event_id: EventId
  event_type: EventType
  status: DeliveryStatus
  attempts: number
  next_attempt_at: Date | null
  created_at: Date
  event_state: EventState
  endpoint_id: EndpointId
  account_id: string
  url: string
  url_version: number
  endpoint_status: EndpointStatus
  deleted: boolean
  secret_ciphertext: Buffer | null
  secret_key_id: string | null
}

const PLANS = `
  select d.id, d.event_id, d.event_type, d.status, d.attempts, d.next_attempt_at, d.created_at, v.state as event_state,
    e.id as endpoint_id, e.account_id, e.url, e.url_version, e.status as endpoint_status,
    e.deleted_at is not null as deleted, e.secret_ciphertext, e.secret_key_id
  from webhook_deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  join webhook_events v on v.id = d.event_id
  where d.id = any ($1)`

/** Reads what these deliveries need for an attempt, in no particular order; ids without a row are left out. */
export async function findAttemptPlans(db: Queryable, ids: readonly DeliveryId[]): Promise<AttemptPlan[]> {
  const { rows } = await db.query<PlanRow>({ name: 'find-attempt-plans', text: PLANS }, [ids])
  return rows.map(toPlan)
}

export const toPlan = (row: PlanRow): AttemptPlan => ({
  id: row.id,
  eventId: row.event_id,
  eventType: row.event_type,
  status: row.status,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at,
  createdAt: row.created_at,
  eventState: row.event_state,
  endpoint: {
    id: row.endpoint_id,
    accountId: row.account_id,
    url: row.url,
    urlVersion: row.url_version,
    status: row.endpoint_status,
    deleted: row.deleted,
    secret:
      row.secret_ciphertext && row.secret_key_id
        ? { ciphertext: row.secret_ciphertext, keyId: row.secret_key_id }
        : null,
  },
})

/** Ends a pending delivery without an attempt; false when it was no longer pending. */
export async function cancelDelivery(db: Queryable, id: DeliveryId, reason: CancelWord): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_deliveries set status = 2, last_error = $2, next_attempt_at = null
     where id = $1 and status = 0`,
    [id, reason],
  )
  return rowCount === 1
}

/** `dueAt` is PostgreSQL's text with microseconds: as a Date it might not find its own place again. */
export type OverdueDelivery = { id: DeliveryId; endpointId: EndpointId; dueAt: string }

/**
 * The sweeper's question: pending deliveries that were due before `before`, longest due first, from behind `after` on.
 * Many of them may only wait for their turn, so the sweeper has to page through all.
 */
export async function findOverdueDeliveries(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: OverdueDelivery; limit: number },
): Promise<OverdueDelivery[]> {
  const { rows } = await db.query<{ id: DeliveryId; endpoint_id: EndpointId; due_at: string }>(
    `select id, endpoint_id, next_attempt_at::text as due_at from webhook_deliveries
     where next_attempt_at < $1 and (next_attempt_at, id) > ($2, $3)
     order by next_attempt_at, id limit $4`,
    [before, after?.dueAt ?? '-infinity', after?.id ?? '0', limit],
  )
  return rows.map(({ id, endpoint_id, due_at }) => ({ id, endpointId: endpoint_id, dueAt: due_at }))
}

export type Backlog = {
  /** Pending deliveries, counted up to 100,000. */
  pending: number
  /** Those of them that are due at `now`, first attempts that their process seems to have left behind included. */
  due: number
  /** When the one that waits longest became due. */
  oldestDueAt: Date | null
}

/** A first attempt takes some seconds. One that is open for longer has no time of its own by which it could be called late. */
const LEFT_BEHIND_SECONDS = 15

/** What waits in the table, for gauges. Counting stops at 100,000, so that an outage does not make scraping slow. */
export async function readBacklog(db: Queryable, now: Date): Promise<Backlog> {
  const { rows } = await db.query<{ pending: number; due: number; oldest_due_at: Date | null }>(
    `with left_behind as (
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
         select from left_behind
         limit 100000) as d) as due,
       least(
         (select next_attempt_at from webhook_deliveries
          where next_attempt_at <= $1 order by next_attempt_at limit 1),
         (select min(since) from left_behind)) as oldest_due_at`,
    [now, LEFT_BEHIND_SECONDS],
  )
  const [row] = rows
  return { pending: row?.pending ?? 0, due: row?.due ?? 0, oldestDueAt: row?.oldest_due_at ?? null }
}
