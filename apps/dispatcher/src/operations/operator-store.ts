import type { Queryable } from '@signet/db'
import type {
  DeliveryId,
  DeliveryStatus,
  EndpointId,
  EndpointStatus,
  EventId,
  EventState,
  FailureReason,
  SealedSecret,
} from '@signet/webhook-core'
import { ENABLING } from '@signet/webhook-core/stores'

/** Whether an operator has paused deliveries. */
export type Switch = { paused: boolean; since: Date | null; operator: string; reason: string }

/** Records who paused or resumed deliveries. Every dispatcher follows the last of these records. */
export const recordDecision = (
  db: Queryable,
  action: 'pause' | 'resume',
  { operator, reason }: { operator: string; reason: string },
): Promise<void> => recordAction(db, action, operator, { reason })

export async function readSwitch(db: Queryable): Promise<Switch> {
  const { rows } = await db.query<{ paused: boolean; created_at: Date; operator: string; reason: string }>(
    `select action = 'pause' as paused, created_at, operator, detail ->> 'reason' as reason
     from operator_actions where action in ('pause', 'resume') order by id desc limit 1`,
  )
  const [row] = rows
  if (!row) return { paused: false, since: null, operator: '', reason: '' }
  return { paused: row.paused, since: row.created_at, operator: row.operator, reason: row.reason }
}

export type OperatorAction = { at: Date; operator: string; action: string; reason: string }

/** Recent operator actions, newest first. */
export async function listOperatorActions(db: Queryable, limit: number): Promise<OperatorAction[]> {
  const { rows } = await db.query<{
    created_at: Date
    operator: string
    action: string
    reason: string | null
  }>(
    `select created_at, operator, action, detail ->> 'reason' as reason
     from operator_actions order by id desc limit $1`,
    [limit],
  )
  return rows.map(({ created_at, operator, action, reason }) => ({
    at: created_at,
    operator,
    action,
    reason: reason ?? '',
  }))
}

export type BusyEndpoint = { endpointId: EndpointId; pending: number }

/** Endpoints by number of pending deliveries, most first. Counts at most 100,000 deliveries. */
export async function findBusiestEndpoints(db: Queryable, limit: number): Promise<BusyEndpoint[]> {
  const { rows } = await db.query<{ endpoint_id: EndpointId; pending: number }>(
    `select endpoint_id, count(*)::integer as pending
     from (select endpoint_id from webhook_pending_deliveries limit 100000) as waiting
     group by endpoint_id order by pending desc, endpoint_id limit $1`,
    [limit],
  )
  return rows.map(({ endpoint_id, pending }) => ({ endpointId: endpoint_id, pending }))
}

/** `lastError`: the failure that disabled it; empty if that was not noted. */
export type DisabledEndpoint = {
  endpointId: EndpointId
  accountId: string
  at: Date
  lastError: FailureReason | ''
}

/** Endpoints that were disabled since a time and still are. */
export async function listDisabledEndpoints(
  db: Queryable,
  since: Date,
  limit: number,
): Promise<DisabledEndpoint[]> {
  const { rows } = await db.query<{
    id: EndpointId
    account_id: string
    disabled_at: Date
    disabled_reason: FailureReason | null
  }>(
    `select id, account_id, disabled_at, disabled_reason from webhook_endpoints
     where status = 2 and deleted_at is null and disabled_at >= $1
     order by disabled_at desc, id limit $2`,
    [since, limit],
  )
  return rows.map(({ id, account_id, disabled_at, disabled_reason }) => ({
    endpointId: id,
    accountId: account_id,
    at: disabled_at,
    lastError: disabled_reason ?? '',
  }))
}

/** Enables a disabled endpoint, resets its failure count and records who did it. False if there was nothing to enable. */
export async function enableEndpoint(
  db: Queryable,
  id: EndpointId,
  { operator, reason }: { operator: string; reason: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with enabled as (
       update webhook_endpoints set ${ENABLING}
       where id = $1 and status = 2 and deleted_at is null
       returning id
     )
     insert into operator_actions (operator, action, detail)
     select $2, 'enable', jsonb_build_object('endpoint_id', id::text, 'reason', $3::text) from enabled`,
    [id, operator, reason],
  )
  return rowCount === 1
}

/** One delivery with everything an operator needs, except the payload and the secret. */
export type DeliveryReport = {
  id: DeliveryId
  status: DeliveryStatus
  attempts: number
  lastError: FailureReason | ''
  replay: number
  createdAt: Date
  nextAttemptAt: Date | null
  deliveredAt: Date | null
  event: {
    id: EventId
    type: string
    state: EventState
    bytes: number
    unconverted: string | null
    createdAt: Date
  }
  endpoint: {
    id: EndpointId
    accountId: string
    url: string
    status: EndpointStatus
    consecutiveFailures: number
    disabledAt: Date | null
    deletedAt: Date | null
  }
  /** Other deliveries of the same event to the same endpoint: the original and its replays. */
  others: { id: DeliveryId; status: DeliveryStatus; replay: number }[]
}

type ReportRow = {
  id: DeliveryId
  status: DeliveryStatus
  attempts: number
  last_error: FailureReason | ''
  replay: number
  created_at: Date
  next_attempt_at: Date | null
  delivered_at: Date | null
  event_id: EventId
  event_type: string
  event_state: EventState
  bytes: number
  unconverted: string | null
  event_created_at: Date
  endpoint_id: EndpointId
  account_id: string
  url: string
  endpoint_status: EndpointStatus
  consecutive_failures: number
  disabled_at: Date | null
  deleted_at: Date | null
  others: DeliveryReport['others'] | null
}

export async function findDeliveryReport(db: Queryable, id: DeliveryId): Promise<DeliveryReport | null> {
  const { rows } = await db.query<ReportRow>(
    `select d.id, d.status, d.attempts, d.last_error, d.replay, d.created_at, d.next_attempt_at, d.delivered_at,
       v.id as event_id, v.type as event_type, v.state as event_state, v.created_at as event_created_at,
       coalesce(octet_length(v.body), 0) as bytes, v.unconverted,
       e.id as endpoint_id, e.account_id, e.url, e.status as endpoint_status, e.consecutive_failures,
       e.disabled_at, e.deleted_at,
       (select jsonb_agg(jsonb_build_object('id', o.id::text, 'status', o.status, 'replay', o.replay) order by o.replay)
        from webhook_deliveries o
        where o.event_id = d.event_id and o.endpoint_id = d.endpoint_id and o.id <> d.id) as others
     from webhook_deliveries d
     join webhook_events v on v.id = d.event_id
     join webhook_endpoints e on e.id = d.endpoint_id
     where d.id = $1`,
    [id],
  )
  return rows[0] ? toReport(rows[0]) : null
}

const toReport = (row: ReportRow): DeliveryReport => ({
  id: row.id,
  status: row.status,
  attempts: row.attempts,
  lastError: row.last_error,
  replay: row.replay,
  createdAt: row.created_at,
  nextAttemptAt: row.next_attempt_at,
  deliveredAt: row.delivered_at,
  event: {
    id: row.event_id,
    type: row.event_type,
    state: row.event_state,
    bytes: row.bytes,
    unconverted: row.unconverted,
    createdAt: row.event_created_at,
  },
  endpoint: {
    id: row.endpoint_id,
    accountId: row.account_id,
    url: row.url,
    status: row.endpoint_status,
    consecutiveFailures: row.consecutive_failures,
    disabledAt: row.disabled_at,
    deletedAt: row.deleted_at,
  },
  others: row.others ?? [],
})

export type StoredSecrets = { endpointId: EndpointId; accountId: string; sealed: SealedSecret[] }

/** Endpoints with a signing secret that is not encrypted with `keyId`, by ascending id, starting after `after`. */
export async function findSecretsOfOtherKeys(
  db: Queryable,
  { keyId, after, limit }: { keyId: string; after: string; limit: number },
): Promise<StoredSecrets[]> {
  const { rows } = await db.query<{
    id: EndpointId
    account_id: string
    secret: Buffer | null
    key_id: string | null
    next_secret: Buffer | null
    next_key_id: string | null
  }>(
    `select id, account_id, secret_ciphertext as secret, secret_key_id as key_id,
       next_secret_ciphertext as next_secret, next_secret_key_id as next_key_id
     from webhook_endpoints
     where id > $1 and (secret_key_id <> $2 or next_secret_key_id <> $2) order by id limit $3`,
    [after, keyId, limit],
  )
  const sealed = (ciphertext: Buffer | null, of: string | null): SealedSecret[] =>
    ciphertext && of !== null && of !== keyId ? [{ ciphertext, keyId: of }] : []
  return rows.map((row) => ({
    endpointId: row.id,
    accountId: row.account_id,
    sealed: [...sealed(row.secret, row.key_id), ...sealed(row.next_secret, row.next_key_id)],
  }))
}

/**
 * Stores a re-encrypted secret, whether it is the current or the next one: it may have become the current one since it was
 * read. False if the endpoint was deleted or the secret replaced in the meantime.
 */
export async function replaceSealedSecret(
  db: Queryable,
  endpointId: EndpointId,
  sealed: SealedSecret,
  next: SealedSecret,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_endpoints set
       secret_ciphertext = case when secret_ciphertext = $2 then $3 else secret_ciphertext end,
       secret_key_id = case when secret_ciphertext = $2 then $4 else secret_key_id end,
       next_secret_ciphertext = case when next_secret_ciphertext = $2 then $3 else next_secret_ciphertext end,
       next_secret_key_id = case when next_secret_ciphertext = $2 then $4 else next_secret_key_id end
     where id = $1 and (secret_ciphertext = $2 or next_secret_ciphertext = $2)`,
    [endpointId, sealed.ciphertext, next.ciphertext, next.keyId],
  )
  return rowCount === 1
}

/** Records an action that takes many statements. */
export async function recordAction(
  db: Queryable,
  action: string,
  operator: string,
  detail: Record<string, unknown>,
): Promise<void> {
  await db.query(`insert into operator_actions (operator, action, detail) values ($1, $2, $3)`, [
    operator,
    action,
    detail,
  ])
}
