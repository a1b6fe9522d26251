import type { Queryable } from '@signet/db'
import type { EndpointId, FailureReason } from '@signet/webhook-core'

/** How a warning ended: sent, or why there is nothing more to send. */
export type WarningOutcome = 'sent' | 'resolved' | 'no_address' | 'refused' | 'expired'

/** A warning that this process may send until its lease ends, and what is known about its endpoint now. */
export type ClaimedWarning = {
  id: string
  endpointId: EndpointId
  accountId: string
  url: string
  /** Language of the page on which the owner last saved the endpoint. */
  language: string | null
  /** The number of consecutive failures that caused it. */
  threshold: number
  failures: number
  lastError: FailureReason
  failedAt: Date
  failingSince: Date | null
  attempts: number
  /** Too old to be useful. */
  expired: boolean
  /** The endpoint was deleted, enabled or successful since, or there is a later warning. */
  resolved: boolean
}

type WarningRow = {
  id: string
  endpoint_id: EndpointId
  account_id: string
  url: string
  language: string | null
  threshold: number
  failures: number
  last_error: FailureReason
  failed_at: Date
  failing_since: Date | null
  attempts: number
  expired: boolean
  resolved: boolean
}

/** Claims the warnings that have been due longest. Replicas never claim the same row within a lease. */
// oxlint-disable-next-line signet/account-in-stores -- for the sender, which serves all accounts
export async function claimWarnings(
  db: Queryable,
  { limit, leaseSeconds, lifeHours }: { limit: number; leaseSeconds: number; lifeHours: number },
): Promise<ClaimedWarning[]> {
  const { rows } = await db.query<WarningRow>(
    `with claimed as (
       update webhook_endpoint_warnings
          set attempts = attempts + 1, next_attempt_at = clock_timestamp() + make_interval(secs => $2)
        where id = any (array(
          select id from webhook_endpoint_warnings
           where outcome is null and next_attempt_at <= clock_timestamp()
           order by next_attempt_at limit $1 for update skip locked
        ))
      returning id, endpoint_id, threshold, failures, last_error, failed_at, failing_since, attempts, created_at
     )
     select w.id, w.endpoint_id, e.account_id, e.url, e.language, w.threshold, w.failures, w.last_error, w.failed_at,
            w.failing_since, w.attempts,
            w.created_at < clock_timestamp() - make_interval(hours => $3) as expired,
            e.deleted_at is not null or (e.status = 1 and e.consecutive_failures < w.threshold)
              or exists (select from webhook_endpoint_warnings later
                          where later.endpoint_id = w.endpoint_id and later.threshold > w.threshold
                            and later.failed_at >= w.failed_at) as resolved
       from claimed w join webhook_endpoints e on e.id = w.endpoint_id`,
    [limit, leaseSeconds, lifeHours],
  )
  return rows.map((row) => ({
    id: row.id,
    endpointId: row.endpoint_id,
    accountId: row.account_id,
    url: row.url,
    language: row.language,
    threshold: row.threshold,
    failures: row.failures,
    lastError: row.last_error,
    failedAt: row.failed_at,
    failingSince: row.failing_since,
    attempts: row.attempts,
    expired: row.expired,
    resolved: row.resolved,
  }))
}

type Held = Pick<ClaimedWarning, 'id' | 'attempts'>

/** Returns false if another process has claimed the warning since. */
// oxlint-disable-next-line signet/account-in-stores -- for the sender, of what it has claimed
export async function endWarning(
  db: Queryable,
  { id, attempts }: Held,
  outcome: WarningOutcome,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_endpoint_warnings set outcome = $3, next_attempt_at = null
      where id = $1 and attempts = $2 and outcome is null`,
    [id, attempts, outcome],
  )
  return rowCount === 1
}

// oxlint-disable-next-line signet/account-in-stores -- for the sender, of what it has claimed
export async function deferWarning(
  db: Queryable,
  { id, attempts }: Held,
  delaySeconds: number,
): Promise<void> {
  await db.query(
    `update webhook_endpoint_warnings set next_attempt_at = clock_timestamp() + make_interval(secs => $3)
      where id = $1 and attempts = $2 and outcome is null`,
    [id, attempts, delaySeconds],
  )
}
