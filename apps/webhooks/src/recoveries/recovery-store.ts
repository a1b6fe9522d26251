import type { Queryable, Tx } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import { isRecoverable, type RecoveryScope } from '@signet/webhook-core/stores'
import type { LogOwner } from '../deliveries/delivery-row.js'

export type RecoveryId = string & { readonly recovery: unique symbol }
export type RecoveryState = 'running' | 'done' | 'cancelled' | 'stopped'

/** A recovery, without the outcome of its deliveries. */
export type ListedRecovery = {
  id: RecoveryId
  endpointId: EndpointId
  what: RecoveryScope
  state: RecoveryState
  since: Date
  until: Date
  matched: number
  queued: number
  createdAt: Date
}
export type Recovery = ListedRecovery & { delivered: number; failed: number }

type ListedRow = Omit<ListedRecovery, 'endpointId' | 'createdAt'> & {
  endpoint_id: EndpointId
  created_at: Date
}
type RecoveryRow = ListedRow & { delivered: number; failed: number }

const toRecovery = <Row extends ListedRow>({ endpoint_id, created_at, ...row }: Row) => ({
  ...row,
  endpointId: endpoint_id,
  createdAt: created_at,
})

const COLUMNS = 'r.id, r.endpoint_id, r.what, r.state, r.since, r.until, r.matched, r.queued, r.created_at'
/** Recoveries of a deleted endpoint cannot be seen or changed. */
const OF_OWNER = `r.endpoint_id = $1 and r.account_id = $2
  and exists (select from webhook_endpoints where id = $1 and deleted_at is null)`

const MAX_ID = '9223372036854775807'
/** Maximum number of recoveries that are kept per endpoint. */
const KEPT = 100

export type NewRecovery = LogOwner & {
  what: RecoveryScope
  since: string
  until: string | undefined
  limit: number
}
export type Creation =
  | { kind: 'created'; id: RecoveryId }
  /** Another recovery is running, or was started a moment ago. */
  | { kind: 'running' | 'started'; id: RecoveryId }
  /** The endpoint has been deleted in the meantime. */
  | { kind: 'gone' }
  | { kind: 'too_many' }
  /** By the database's clock, the period ends before it begins. */
  | { kind: 'no_time' }

/** Counts the matching deliveries and stores the job. `until` is now at the latest, so that the deliveries it creates do not match. */
export async function insertRecovery(tx: Tx, recovery: NewRecovery): Promise<Creation> {
  const { accountId, endpointId, what, since, until, limit } = recovery
  const ending = `least($3::timestamptz, now())`
  const { rows: counts } = await tx.query<{ matched: number; has_time: boolean }>(
    `select count(*)::integer as matched, $2::timestamptz < ${ending} as has_time from (
       select from webhook_deliveries d
       where d.endpoint_id = $1 and d.created_at >= $2::timestamptz and d.created_at < ${ending}
         and ${isRecoverable(what, ending)}
       limit $4 + 1
     ) as matching`,
    [endpointId, since, until ?? 'infinity', limit],
  )
  const { matched = 0, has_time: hasTime = false } = counts[0] ?? {}
  if (!hasTime) return { kind: 'no_time' }
  if (matched > limit) return { kind: 'too_many' }
  // Admits one caller at a time: while an insert runs, another recovery could start and finish, and the insert would neither see it nor
  // conflict with it.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('webhook_recoveries ' || $1::text, 0))`, [
    endpointId,
  ])
  await tx.query(
    `delete from webhook_recoveries where endpoint_id = $1 and state <> 'running' and id < (
       select min(id) from (select id from webhook_recoveries where endpoint_id = $1 order by id desc limit $2) as newest
     )`,
    [endpointId, KEPT],
  )
  // For a moment, a recovery that is already done counts too: the few deliveries that it created may have arrived already
  // (decision 0067).
  const { rows } = await tx.query<{ id: RecoveryId }>(
    `insert into webhook_recoveries (account_id, endpoint_id, what, since, until, matched, at_time)
     select account_id, id, $3, $4::timestamptz, least($5::timestamptz, now()), $6, $4::timestamptz
     from webhook_endpoints
     where account_id = $1 and id = $2 and deleted_at is null and not exists (
       select from webhook_recoveries where endpoint_id = $2 and (
         state = 'running' or state = 'done' and created_at > clock_timestamp() - interval '10 seconds'
       )
     )
     on conflict (endpoint_id) where state = 'running' do nothing
     returning id`,
    [accountId, endpointId, what, since, until ?? 'infinity', matched],
  )
  return rows[0] ? { kind: 'created', id: rows[0].id } : inTheWay(tx, recovery)
}

/** Uses a separate statement: a recovery that another caller has just started is not in the snapshot of the insert. */
async function inTheWay(tx: Tx, { accountId, endpointId }: LogOwner): Promise<Creation> {
  const { rows } = await tx.query<{ id: RecoveryId; state: RecoveryState }>(
    `select r.id, r.state from webhook_recoveries r where ${OF_OWNER} order by r.id desc limit 1`,
    [endpointId, accountId],
  )
  const newest = rows[0]
  if (!newest) return { kind: 'gone' }
  return { kind: newest.state === 'running' ? 'running' : 'started', id: newest.id }
}

export async function findRecovery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: RecoveryId,
): Promise<Recovery | null> {
  const { rows } = await db.query<RecoveryRow>(
    `select ${COLUMNS}, coalesce(d.delivered, 0) as delivered, coalesce(d.failed, 0) as failed
     from webhook_recoveries r cross join lateral (
       select count(*) filter (where status = 1)::integer as delivered,
         count(*) filter (where status = 2)::integer as failed
       from webhook_deliveries where recovery_id = r.id
     ) d
     where r.id = $3 and ${OF_OWNER}`,
    [endpointId, accountId, id],
  )
  return rows.map(toRecovery)[0] ?? null
}

/**
 * Returns the recoveries of an endpoint that started before `before`, newest first. Does not count the results of their deliveries, of
 * which each may have 100,000.
 */
export async function listRecoveries(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  { before, limit }: { before: RecoveryId | null; limit: number },
): Promise<ListedRecovery[]> {
  const { rows } = await db.query<ListedRow>(
    `select ${COLUMNS} from webhook_recoveries r
     where ${OF_OWNER} and r.id < coalesce($3::bigint, ${MAX_ID})
     order by r.id desc limit $4`,
    [endpointId, accountId, before, limit],
  )
  return rows.map(toRecovery)
}

/** Returns false if the recovery was no longer running. Waits for a step in progress. */
export async function cancelRecovery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: RecoveryId,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_recoveries r set state = 'cancelled'
     where r.id = $3 and ${OF_OWNER} and r.state = 'running'`,
    [endpointId, accountId, id],
  )
  return rowCount === 1
}
