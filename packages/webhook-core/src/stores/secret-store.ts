import type { Queryable } from '@signet/db'
import type { EndpointId } from '../ids.js'
import type { SealedSecret } from '../signature/secret-box.js'
import { ENDPOINT_COLUMNS, toEndpoint, type Endpoint, type EndpointRow } from './endpoint-store.js'

// All three functions change one row, under its lock, and only while its state allows it, so one of several parallel callers succeeds.
// Each condition reads the clock itself, because a statement may have waited for the lock until after the activation.
// apps/webhooks/docs/specification.md#replacing-a-secret

/**
 * The current secrets of endpoint `e`, by the database's clock. A next secret whose time has come counts as the current one, even if no
 * statement has stored that yet.
 */
export const SECRETS_NOW = `
  case when e.next_secret_active_at <= now() then e.next_secret_ciphertext else e.secret_ciphertext end
    as secret_ciphertext,
  case when e.next_secret_active_at <= now() then e.next_secret_key_id else e.secret_key_id end as secret_key_id,
  case when e.next_secret_active_at > now() then e.next_secret_ciphertext end as next_secret_ciphertext,
  case when e.next_secret_active_at > now() then e.next_secret_key_id end as next_secret_key_id`

const IS_WAITING = 'next_secret_active_at > clock_timestamp()'
const TOUCHED = 'updated_at = greatest(clock_timestamp(), updated_at)'
const TAKE_NEXT_SECRET = 'secret_ciphertext = next_secret_ciphertext, secret_key_id = next_secret_key_id,'

/** Also true for ten seconds after a secret took over, because callers may have tried to replace the previous one at the same time. */
const IS_NEW = `next_secret_active_at > clock_timestamp() - interval '10 seconds'`

/** Stores the next secret. Returns null if there is no such endpoint, or if another secret is waiting or has just taken over. */
export async function storeNextSecret(
  db: Queryable,
  accountId: string,
  id: EndpointId,
  { next, activateAfterHours }: { next: SealedSecret; activateAfterHours: number },
): Promise<Endpoint | null> {
  const { rows } = await db.query<EndpointRow>(
    // A next secret whose time has come has become the current one.
    `update webhook_endpoints set
       secret_ciphertext = coalesce(next_secret_ciphertext, secret_ciphertext),
       secret_key_id = coalesce(next_secret_key_id, secret_key_id),
       next_secret_ciphertext = $3, next_secret_key_id = $4,
       next_secret_active_at = clock_timestamp() + make_interval(hours => $5),
       ${TOUCHED}
     where account_id = $1 and id = $2 and deleted_at is null and (${IS_NEW}) is not true
     returning ${ENDPOINT_COLUMNS}`,
    [accountId, id, next.ciphertext, next.keyId, activateAfterHours],
  )
  return rows.map(toEndpoint)[0] ?? null
}

/** Makes the next secret the current one. Returns null if there is no such endpoint or no next secret. */
export const activateNextSecret = (db: Queryable, accountId: string, id: EndpointId) =>
  endWaiting(db, accountId, id, TAKE_NEXT_SECRET)

/** Deletes the next secret. Returns null if there is no such endpoint or no next secret. */
export const cancelNextSecret = (db: Queryable, accountId: string, id: EndpointId) =>
  endWaiting(db, accountId, id, '')

async function endWaiting(
  db: Queryable,
  accountId: string,
  id: EndpointId,
  assignments: string,
): Promise<Endpoint | null> {
  const { rows } = await db.query<EndpointRow>(
    `update webhook_endpoints set ${assignments}
       next_secret_ciphertext = null, next_secret_key_id = null, next_secret_active_at = null,
       ${TOUCHED}
     where account_id = $1 and id = $2 and deleted_at is null and ${IS_WAITING}
     returning ${ENDPOINT_COLUMNS}`,
    [accountId, id],
  )
  return rows.map(toEndpoint)[0] ?? null
}
