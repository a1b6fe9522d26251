import type { Queryable, Tx } from '@signet/db'
import type { FailureReason } from '../delivery/failure-reasons.js'
import { endpointStatus, type EndpointStatus } from '../delivery/states.js'
import type { EndpointId } from '../ids.js'
import type { SealedSecret } from '../signature/secret-box.js'
import { ERASED_SECRETS } from './erased-secrets.js'
import { cancelBacklog, type BacklogPosition } from './backlog-store.js'

/** An endpoint without its signing secret, which is read only together with a delivery to attempt. */
export type Endpoint = {
  id: EndpointId
  accountId: string
  url: string
  urlVersion: number
  events: string[]
  status: EndpointStatus
  consecutiveFailures: number
  /** When the first failed attempt since the last success ended. */
  failingSince: Date | null
  disabledAt: Date | null
  disabledReason: FailureReason | null
  /** When the next secret replaces the current one. Null if there is none. */
  secretActivatesAt: Date | null
  createdAt: Date
  updatedAt: Date
}

export type EndpointRow = {
  id: EndpointId
  account_id: string
  url: string
  url_version: number
  events: string[]
  status: EndpointStatus
  consecutive_failures: number
  failing_since: Date | null
  disabled_at: Date | null
  disabled_reason: FailureReason | null
  secret_activates_at: Date | null
  created_at: Date
  updated_at: Date
}

export const ENDPOINT_COLUMNS = `id, account_id, url, url_version, events, status, consecutive_failures, failing_since, disabled_at,
  disabled_reason, created_at, updated_at,
  case when next_secret_active_at > clock_timestamp() then next_secret_active_at end as secret_activates_at`

export const toEndpoint = (row: EndpointRow): Endpoint => ({
  id: row.id,
  accountId: row.account_id,
  url: row.url,
  urlVersion: row.url_version,
  events: row.events,
  status: row.status,
  consecutiveFailures: row.consecutive_failures,
  failingSince: row.failing_since,
  disabledAt: row.disabled_at,
  disabledReason: row.disabled_reason,
  secretActivatesAt: row.secret_activates_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

export type NewEndpoint = {
  accountId: string
  url: string
  /** The normalized form of `url`, from `UrlPolicy.accept`. */
  href: string
  events: readonly string[]
  /** Maximum endpoints of the account, including disabled ones. */
  maxPerAccount: number
  /** Language of the page on which the owner adds the endpoint. */
  language?: string | undefined
  /** Encrypts the signing secret for the endpoint's new id. Synchronous, because locks are held. */
  seal: (id: EndpointId) => SealedSecret
}

/**
 * Inserts an endpoint, or returns null if the account has reached its limit. Counts under a lock on the account: otherwise, in READ
 * COMMITTED, two concurrent callers could both create the last one.
 */
export async function insertEndpoint(tx: Tx, endpoint: NewEndpoint): Promise<Endpoint | null> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('webhook-quota:' || $1, 0))`, [
    endpoint.accountId,
  ])
  const { rows: counts } = await tx.query<{ used: number; id: EndpointId }>(
    `select count(*)::integer as used, nextval(pg_get_serial_sequence('webhook_endpoints', 'id')) as id
     from webhook_endpoints where account_id = $1 and deleted_at is null`,
    [endpoint.accountId],
  )
  const [count] = counts
  if (count === undefined || count.used >= endpoint.maxPerAccount) return null
  const { keyId, ciphertext } = endpoint.seal(count.id)
  const { rows } = await tx.query<EndpointRow>(
    `insert into webhook_endpoints (id, account_id, url, url_href, events, secret_ciphertext, secret_key_id, language)
     overriding system value values ($1, $2, $3, $4, $5, $6, $7, $8)
     returning ${ENDPOINT_COLUMNS}`,
    [
      count.id,
      endpoint.accountId,
      endpoint.url,
      endpoint.href,
      endpoint.events,
      ciphertext,
      keyId,
      endpoint.language ?? null,
    ],
  )
  return rows.map(toEndpoint)[0] ?? null
}

/** All endpoints of an account that are not deleted, oldest first. */
export async function listEndpoints(db: Queryable, accountId: string): Promise<Endpoint[]> {
  const { rows } = await db.query<EndpointRow>(
    `select ${ENDPOINT_COLUMNS} from webhook_endpoints where account_id = $1 and deleted_at is null order by id`,
    [accountId],
  )
  return rows.map(toEndpoint)
}

/** Requires the account id, like every finder of tenant data: an id alone is never enough to read a row. */
export async function findEndpoint(
  db: Queryable,
  accountId: string,
  id: EndpointId,
): Promise<Endpoint | null> {
  const { rows } = await db.query<EndpointRow>(
    `select ${ENDPOINT_COLUMNS} from webhook_endpoints where account_id = $1 and id = $2 and deleted_at is null`,
    [accountId, id],
  )
  return rows.map(toEndpoint)[0] ?? null
}

export type EndpointPatch = {
  /** Undefined keeps the current one. */
  url?: { url: string; href: string }
  events: readonly string[]
  /** Undefined keeps the current one. */
  language?: string | undefined
}

/**
 * Replaces the events and, if given, the URL. Returns null if there is no such endpoint. A URL with the same normalized form counts as
 * unchanged. A real change resets the endpoint: active, no failures, a new URL version
 * (apps/webhooks/docs/specification.md#updating-a-webhook).
 */
export async function patchEndpoint(
  db: Queryable,
  accountId: string,
  id: EndpointId,
  { url, events, language }: EndpointPatch,
): Promise<Endpoint | null> {
  const changed = `($4::text is not null and $4 <> url_href)`
  const { rows } = await db.query<EndpointRow>(
    `update webhook_endpoints set
       url = coalesce($3, url),
       url_href = coalesce($4, url_href),
       events = $5,
       language = coalesce($6, language),
       url_version = url_version + case when ${changed} then 1 else 0 end,
       status = case when ${changed} then ${endpointStatus.active} else status end,
       consecutive_failures = case when ${changed} then 0 else consecutive_failures end,
       failing_since = case when ${changed} then null else failing_since end,
       disabled_at = case when ${changed} then null else disabled_at end,
       disabled_reason = case when ${changed} then null else disabled_reason end,
       updated_at = clock_timestamp()
     where account_id = $1 and id = $2 and deleted_at is null
     returning ${ENDPOINT_COLUMNS}`,
    [accountId, id, url?.url ?? null, url?.href ?? null, events, language ?? null],
  )
  return rows.map(toEndpoint)[0] ?? null
}

/**
 * The assignments that enable an endpoint. The URL counts as a new version, so failures of attempts that began earlier neither count
 * nor disable the endpoint again (apps/webhooks/docs/specification.md#reading-and-enabling-a-webhook).
 */
export const ENABLING = `status = ${endpointStatus.active}, consecutive_failures = 0, failing_since = null,
  disabled_at = null, disabled_reason = null, url_version = url_version + 1,
  updated_at = greatest(clock_timestamp(), updated_at)`

/** Makes an endpoint active without failures, even if it was active already. Returns null if there is no such endpoint. */
export async function enableEndpoint(
  db: Queryable,
  accountId: string,
  id: EndpointId,
): Promise<Endpoint | null> {
  const { rows } = await db.query<EndpointRow>(
    `update webhook_endpoints set ${ENABLING}
     where account_id = $1 and id = $2 and deleted_at is null
     returning ${ENDPOINT_COLUMNS}`,
    [accountId, id],
  )
  return rows.map(toEndpoint)[0] ?? null
}

/** How much of a backlog a deletion cancels itself: this many pages of this many rows. */
const BACKLOG = { pages: 10, rows: 1000 }

/**
 * Deletes an endpoint and erases its secret, then cancels its pending deliveries. Returns null if there is no such endpoint. An attempt
 * in flight still records its result. The dispatcher's sweeper cancels the rest of a long backlog, or what an error (`failure`) left.
 */
export async function deleteEndpoint(
  db: Queryable,
  accountId: string,
  id: EndpointId,
  { pages, rows }: typeof BACKLOG = BACKLOG,
): Promise<{ cancelledDeliveries: number; failure?: unknown } | null> {
  const { rowCount } = await db.query(
    `update webhook_endpoints
     set deleted_at = now(), updated_at = clock_timestamp(), ${ERASED_SECRETS}
     where account_id = $1 and id = $2 and deleted_at is null`,
    [accountId, id],
  )
  if (rowCount !== 1) return null
  let cancelledDeliveries = 0
  let after: BacklogPosition | null = null
  try {
    for (let page = 0; page < pages; page += 1) {
      // The first statement waited for the endpoint's lock, so every delivery that was created in the meantime is committed and visible
      // here.
      const { cancelled, next } = await cancelBacklog(db, id, after, rows)
      cancelledDeliveries += cancelled
      after = next
      if (next === null) break
    }
  } catch (failure) {
    return { cancelledDeliveries, failure }
  }
  return { cancelledDeliveries }
}
