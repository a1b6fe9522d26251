import type { Queryable, Tx } from '@signet/db'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'
import type { DueDelivery } from '@signet/webhook-core/queue'
import { creatingReplays, isRecoverable, type RecoveryScope } from '@signet/webhook-core/stores'

/** The recovery that takes the next step. */
export type RunningRecovery = { id: string; endpointId: EndpointId; accountId: string; what: RecoveryScope }

export type StepLimits = {
  /** Deliveries of a recovery that may wait for their first attempt. */
  outstanding: number
  /** Rows of the log that one step looks at. */
  rows: number
}

/**
 * Locks the recovery that has waited longest, if none of its steps was taken since `before`. Another process skips it.
 * A recovery ends when its endpoint is disabled or deleted.
 */
export async function lockRecovery(tx: Tx, before: Date): Promise<RunningRecovery | null> {
  const { rows } = await tx.query<LockedRow>(
    `select id, endpoint_id, account_id, what from webhook_recoveries
     where state = 'running' and stepped_at < $1
     order by stepped_at limit 1 for no key update skip locked`,
    [before],
  )
  const [row] = rows
  return row ? { id: row.id, endpointId: row.endpoint_id, accountId: row.account_id, what: row.what } : null
}

type LockedRow = { id: string; endpoint_id: EndpointId; account_id: string; what: RecoveryScope }

/** Ends a recovery whose endpoint is disabled or deleted; false if it is active. */
export async function stopUnlessActive(tx: Tx, { id, endpointId }: RunningRecovery): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update webhook_recoveries set state = 'stopped' where id = $1 and not exists (
       select from webhook_endpoints where id = $2 and status = 1 and deleted_at is null
     )`,
    [id, endpointId],
  )
  return rowCount === 1
}

/** Notes a step that failed, so that the other recoveries come first. */
export async function postponeRecovery(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query(
    `update webhook_recoveries set stepped_at = greatest(stepped_at, $2) where id = $1 and state = 'running'`,
    [id, now],
  )
}

/** Creates the next deliveries and notes how far it came, in one statement. */
export async function stepRecovery(
  db: Queryable,
  { id, endpointId, accountId, what }: RunningRecovery,
  { outstanding, rows: rowLimit }: StepLimits,
  now: Date,
): Promise<DueDelivery[]> {
  const { rows } = await db.query<{ id: DeliveryId }>(
    `with recovery as materialized (
       select at_time, at_id, until from webhook_recoveries where id = $1
     ),
     room as materialized (
       select greatest(0, $3 - count(*))::integer as free from webhook_deliveries
       where recovery_id = $1 and status = 0 and attempts = 0
     ),
     seen as materialized (
       select d.id, d.created_at, d.event_id, d.endpoint_id, d.event_type, d.status, d.failed, d.replay
       from webhook_deliveries d
       where ${what === 'failed' ? 'd.failed and' : ''} d.endpoint_id = $2
         and (d.created_at, d.id) > ((select at_time from recovery), (select at_id from recovery))
         and d.created_at < (select until from recovery)
       order by d.created_at, d.id limit $4
     ),
     fitting as materialized (
       select d.id, d.created_at, d.event_id, d.endpoint_id, d.event_type from seen d
       where ${isRecoverable(what, '(select until from recovery)')}
       order by d.created_at, d.id limit (select free from room)
     ),
     chosen as materialized (
       select f.event_id, f.endpoint_id, f.event_type from fitting f
       join webhook_events v on v.id = f.event_id and v.body is not null
     ),
     ${creatingReplays({ due: '$5::timestamptz', recovery: '$1' })},
     reached as (
       (select created_at, id from fitting
        where (select count(*) from fitting) = (select free from room)
        order by created_at desc, id desc limit 1)
       union all
       (select created_at, id from seen
        where (select count(*) from fitting) < (select free from room)
        order by created_at desc, id desc limit 1)
     ),
     noted as (
       update webhook_recoveries set
         at_time = coalesce((select created_at from reached), at_time),
         at_id = coalesce((select id from reached), at_id),
         queued = queued + (select count(*) from created)::integer,
         -- Deliveries that were pending when the recovery began were not counted, but may have failed since.
         matched = greatest(matched, queued + (select count(*) from created)::integer),
         stepped_at = $5,
         state = case
           when (select count(*) from fitting) < (select free from room) and (select count(*) from seen) < $4 then 'done'
           else state
         end
       where id = $1
     )
     select id from created order by id`,
    [id, endpointId, outstanding, rowLimit, now],
  )
  return rows.map((row) => ({ id: row.id, endpointId, accountId }))
}
