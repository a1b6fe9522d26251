import type { Queryable, Tx } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import { isRecoverable, type RecoveryScope } from '@signet/webhook-core/stores'
import type { LogOwner } from '../deliveries/delivery-row.js'

export type RecoveryId = string & { readonly recovery: unique symbol }
export type RecoveryState = 'running' | 'done' | 'cancelled' | 'stopped'

export type Recovery = {
  id: RecoveryId
  endpointId: EndpointId
  what: RecoveryScope
  state: RecoveryState
  since: Date
  until: Date
  matched: number
  queued: number
  delivered: number
  failed: number
  createdAt: Date
}

type RecoveryRow = {
  id: RecoveryId
  endpoint_id: EndpointId
  what: RecoveryScope
  state: RecoveryState
  since: Date
  until: Date
  matched: number
  queued: number
  delivered: number
  failed: number
  created_at: Date
}

const toRecovery = ({ endpoint_id, created_at, ...row }: RecoveryRow): Recovery => ({
  ...row,
  endpointId: endpoint_id,
  createdAt: created_at,
})

/** Finished ones of an endpoint that are kept. */
const KEPT = 100

export type NewRecovery = LogOwner & {
  what: RecoveryScope
  since: string
  until: string | undefined
  limit: number
}
export type Creation = { kind: 'created'; id: RecoveryId } | { kind: 'running' } | { kind: 'too_many' }

/** Counts what matches and stores the job. `until` ends now at the latest, so that what it makes does not match. */
export async function insertRecovery(tx: Tx, recovery: NewRecovery): Promise<Creation> {
  const { accountId, endpointId, what, since, until, limit } = recovery
  const ending = `least($3::timestamptz, now())`
  const { rows: counts } = await tx.query<{ matched: number }>(
    `select count(*)::integer as matched from (
       select from webhook_deliveries d
       where d.endpoint_id = $1 and d.created_at >= $2::timestamptz and d.created_at < ${ending}
         and ${isRecoverable(what, ending)}
       limit $4 + 1
     ) as matching`,
    [endpointId, since, until ?? 'infinity', limit],
  )
  const matched = counts[0]?.matched ?? 0
  if (matched > limit) return { kind: 'too_many' }
  await tx.query(
    `delete from webhook_recoveries where endpoint_id = $1 and state <> 'running' and id < (
       select min(id) from (select id from webhook_recoveries where endpoint_id = $1 order by id desc limit $2) as newest
     )`,
    [endpointId, KEPT],
  )
  const { rows } = await tx.query<{ id: RecoveryId }>(
    `insert into webhook_recoveries (account_id, endpoint_id, what, since, until, matched, at_time)
     select account_id, id, $3, $4::timestamptz, least($5::timestamptz, now()), $6, $4::timestamptz
     from webhook_endpoints where account_id = $1 and id = $2 and deleted_at is null
     on conflict (endpoint_id) where state = 'running' do nothing
     returning id`,
    [accountId, endpointId, what, since, until ?? 'infinity', matched],
  )
  return rows[0] ? { kind: 'created', id: rows[0].id } : { kind: 'running' }
}

export async function findRecovery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: RecoveryId,
): Promise<Recovery | null> {
  const { rows } = await db.query<RecoveryRow>(
    `select r.id, r.endpoint_id, r.what, r.state, r.since, r.until, r.matched, r.queued, r.created_at,
       coalesce(d.delivered, 0) as delivered, coalesce(d.failed, 0) as failed
     from webhook_recoveries r cross join lateral (
       select count(*) filter (where status = 1)::integer as delivered,
         count(*) filter (where status = 2)::integer as failed
       from webhook_deliveries where recovery_id = r.id
     ) d
     where r.id = $1 and r.endpoint_id = $2 and r.account_id = $3`,
    [id, endpointId, accountId],
  )
  return rows.map(toRecovery)[0] ?? null
}

/** False if it was no longer running. Waits for a step that is being taken. */
export async function cancelRecovery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: RecoveryId,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_recoveries set state = 'cancelled'
     where id = $1 and endpoint_id = $2 and account_id = $3 and state = 'running'`,
    [id, endpointId, accountId],
  )
  return rowCount === 1
}
