import type { Queryable } from '@signet/db'
import { IS_IDLE } from '../credentials/idleness.js'

/** Deletes or ends at most `limit` rows and returns how many. The caller repeats it until it finds fewer than `limit`. */
export type CleanupStep = (db: Queryable, limit: number) => Promise<number>

/** Skips locked rows, which the next run finds. */
const step =
  (text: string): CleanupStep =>
  async (db, limit) =>
    (await db.query(text, [limit])).rowCount ?? 0

const deleteWhere = (table: string, key: string, condition: string): CleanupStep =>
  step(
    `delete from ${table} where (${key}) in
       (select ${key} from ${table} where ${condition} limit $1 for update skip locked)`,
  )

/** Rows that expire within minutes or hours. Used codes stay with their grant, so that a replay is recognized. */
export const hourlySteps: Readonly<Record<string, CleanupStep>> = {
  codes: deleteWhere('oauth_codes', 'code_hash', 'used_at is null and expires_at < now()'),
  authorizations: deleteWhere('oauth_authorizations', 'txn_hash', 'expires_at < now()'),
  sessions: deleteWhere(
    'login_sessions',
    'id_hash',
    `expires_at < now() or last_seen_at < now() - interval '1 hour'`,
  ),
  // By then, every browser session that these rows could end has expired.
  ended_identity_sessions: deleteWhere(
    'ended_identity_sessions',
    'id',
    `ended_at < now() - interval '1 day'`,
  ),
  handovers: deleteWhere('page_handovers', 'id', 'expires_at < now()'),
  submissions: deleteWhere(
    'page_submissions',
    'session_hash, key',
    `claimed_at < now() - interval '5 minutes'`,
  ),
  access_tokens: deleteWhere('oauth_access_tokens', 'token_hash', 'expires_at < now()'),
}

/** Rows that expire after days (docs/specification.md#retention). */
export const dailySteps: Readonly<Record<string, CleanupStep>> = {
  refresh_tokens: deleteWhere('oauth_refresh_tokens', 'token_hash', 'expires_at < now()'),
  // Grants that were revoked, or that have no access or refresh token left.
  grants: step(
    `delete from oauth_grants where id in (
       select g.id from oauth_grants g
        where g.revoked_at < now() - interval '30 days'
           or (g.created_at < now() - interval '30 days'
               and not exists (select from oauth_refresh_tokens r where r.grant_id = g.id)
               and not exists (select from oauth_access_tokens t where t.grant_id = g.id))
        limit $1 for update skip locked)`,
  ),
  unused_clients: deleteWhere(
    'oauth_clients',
    'client_id',
    `last_used_at is null and not first_party and created_at < now() - interval '90 days'`,
  ),
  idle_personal_tokens: step(
    `update personal_tokens set revoked_at = now(), revoke_reason = 'inactive' where id in (
       select id from personal_tokens
        where revoked_at is null and ${IS_IDLE}
        limit $1 for update skip locked)`,
  ),
  dead_personal_tokens: deleteWhere(
    'personal_tokens',
    'id',
    `revoked_at < now() - interval '30 days' or expires_at < now() - interval '30 days'`,
  ),
  endpoint_warnings: deleteWhere('webhook_endpoint_warnings', 'id', `created_at < now() - interval '7 days'`),
  // By then, everything that these rows could refuse has expired or been revoked. Tombstones stay, and so does a sign-out while some
  // credential is refused only because of it. `offset 0` checks each of the few rows instead of joining whole tables.
  account_states: deleteWhere(
    'account_states',
    'account_id',
    `deleted_at is null and greatest(signed_out_at, ban_decided_at, banned_until) < now() - interval '30 days'
     and not exists (select from personal_tokens t where t.account_id = account_states.account_id
       and t.revoked_at is null and t.authenticated_at <= account_states.signed_out_at offset 0)
     and not exists (select from oauth_grants g where g.account_id = account_states.account_id
       and g.revoked_at is null and g.authenticated_at <= account_states.signed_out_at offset 0)`,
  ),
}
