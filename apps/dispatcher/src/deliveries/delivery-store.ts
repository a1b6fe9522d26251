import type { Queryable } from '@signet/db'
import type {
  CancelReason,
  DeliveryId,
  DeliveryStatus,
  EndpointId,
  EndpointStatus,
  EventId,
  EventState,
  EventType,
  SealedSecret,
} from '@signet/webhook-core'
import { SECRETS_NOW } from '@signet/webhook-core/stores'

/** Everything that one attempt needs except the body, which the caller reads once per event and caches. */
export type DeliverySnapshot = {
  id: DeliveryId
  eventId: EventId
  eventType: EventType
  status: DeliveryStatus
  /** Attempts so far. The next one has this number plus one. */
  attempts: number
  /** When it is due; null when it has ended, and while the event's job makes its first attempt. */
  nextAttemptAt: Date | null
  createdAt: Date
  eventState: EventState
  endpoint: {
    id: EndpointId
    accountId: string
    url: string
    urlVersion: number
    status: EndpointStatus
    /** True if the endpoint or its account is deleted. */
    deleted: boolean
    /** When the ban of the account ends. A time in the past has no effect. */
    heldUntil: Date | null
    /** Null for a deleted endpoint. */
    secret: SealedSecret | null
    /** The secret that will replace it, while both are valid. */
    nextSecret: SealedSecret | null
  }
}

export type SnapshotRow = {
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
  held_until: Date | null
  secret_ciphertext: Buffer | null
  secret_key_id: string | null
  next_secret_ciphertext: Buffer | null
  next_secret_key_id: string | null
}

/** The state of the account of endpoint `e` as `a`: one lookup by key, however large the planner believes the tables to be. */
export const ACCOUNT_STATE = `left join lateral (
    select s.banned_until, s.deleted_at from account_states s where s.account_id = e.account_id offset 0
  ) a on true`

const SNAPSHOTS = `
  select d.id, d.event_id, d.event_type, d.status, d.attempts, d.next_attempt_at, d.created_at, v.state as event_state,
    e.id as endpoint_id, e.account_id, e.url, e.url_version, e.status as endpoint_status,
    e.deleted_at is not null or a.deleted_at is not null as deleted, a.banned_until as held_until,
    ${SECRETS_NOW}
  from webhook_deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  join webhook_events v on v.id = d.event_id
  ${ACCOUNT_STATE}
  where d.id = any ($1)`

/** The snapshots of these deliveries, in no particular order. Ids without a row are skipped. */
export async function findDeliverySnapshots(
  db: Queryable,
  ids: readonly DeliveryId[],
): Promise<DeliverySnapshot[]> {
  const { rows } = await db.query<SnapshotRow>({ name: 'find-delivery-snapshots', text: SNAPSHOTS }, [ids])
  return rows.map(toSnapshot)
}

export const toSnapshot = (row: SnapshotRow): DeliverySnapshot => ({
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
    heldUntil: row.held_until,
    secret: toSealed(row.secret_ciphertext, row.secret_key_id),
    nextSecret: toSealed(row.next_secret_ciphertext, row.next_secret_key_id),
  },
})

const toSealed = (ciphertext: Buffer | null, keyId: string | null): SealedSecret | null =>
  ciphertext && keyId ? { ciphertext, keyId } : null

/** Ends a pending delivery without an attempt; false if it was no longer pending. */
export async function cancelDelivery(db: Queryable, id: DeliveryId, reason: CancelReason): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_deliveries set status = 2, last_error = $2, next_attempt_at = null
     where id = $1 and status = 0`,
    [id, reason],
  )
  return rowCount === 1
}

/**
 * Holds a pending delivery until the ban of its account ends, unless the account is no longer banned at `now`. Because of the lock,
 * lifting a ban cannot miss a delivery that is being held at the same moment. `changing`: a transaction holds the account's row. The
 * statement does not wait for it, or soon all connections would.
 */
export async function holdDelivery(
  db: Queryable,
  { id, accountId, now }: { id: DeliveryId; accountId: string; now: Date },
): Promise<'held' | 'not_banned' | 'changing'> {
  const { rows } = await db.query<{ held: boolean; banned: boolean }>(
    `with ban as materialized (
       select banned_until from account_states where account_id = $2 and banned_until > $3 for share skip locked
     ), held as (
       update webhook_deliveries set next_attempt_at = (select banned_until from ban)
       where id = $1 and status = 0 and exists (select from ban)
     )
     select exists (select from ban) as held,
       exists (select from account_states where account_id = $2 and banned_until > $3) as banned`,
    [id, accountId, now],
  )
  const [row] = rows
  if (row?.held) return 'held'
  return row?.banned ? 'changing' : 'not_banned'
}

/** `dueAt` is PostgreSQL's text, because a Date would lose the microseconds that paging needs. */
export type OverdueDelivery = DeliveryPosition & {
  id: DeliveryId
  endpointId: EndpointId
  accountId: string
  due: Date
}

/** A position in the order of due times. */
export type DeliveryPosition = { dueAt: string; id?: DeliveryId }

/**
 * For the sweeper: pending deliveries that were due before `before`, longest overdue first, starting after `after`. Many may
 * only be waiting for their turn, so the sweeper has to page through all of them.
 */
export async function findOverdueDeliveries(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: DeliveryPosition; limit: number },
): Promise<OverdueDelivery[]> {
  const { rows } = await db.query<{
    id: DeliveryId
    endpoint_id: EndpointId
    account_id: string
    due: Date
    due_at: string
  }>(
    `select d.id, d.endpoint_id, d.next_attempt_at as due, d.next_attempt_at::text as due_at,
       (select e.account_id from webhook_endpoints e where e.id = d.endpoint_id) as account_id
     from webhook_deliveries d
     where d.next_attempt_at < $1 and (d.next_attempt_at, d.id) > ($2, $3)
     order by d.next_attempt_at, d.id limit $4`,
    [before, after?.dueAt ?? '-infinity', after?.id ?? '0', limit],
  )
  return rows.map((row) => ({
    id: row.id,
    endpointId: row.endpoint_id,
    accountId: row.account_id,
    due: row.due,
    dueAt: row.due_at,
  }))
}
