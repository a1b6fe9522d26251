import type { Queryable } from '@signet/db'
import { accountAdmits } from '../credentials/account-access.js'
import { IS_IDLE } from '../credentials/idleness.js'

export type LiveAccessToken = {
  grantId: string
  clientId: string
  accountId: string
  scope: string
  resources: readonly string[]
  authenticatedAt: Date
}

export type LivePersonalToken = {
  id: string
  accountId: string
  authenticatedAt: Date
  /** Unused for so long that the token must not work anymore. */
  idle: boolean
  /** The recorded last use is old enough to be updated. */
  touch: boolean
}

// The most frequent query of /v1: three primary-key lookups. Reads grant and account every time, so that a revocation only has to
// change one row and applies to tokens that are being issued at the same moment.
const FIND_ACCESS_TOKEN = {
  name: 'find-live-access-token',
  text: `select t.grant_id, g.client_id, t.account_id, t.scope, coalesce(t.resources, g.resources) as resources,
                g.authenticated_at
           from oauth_access_tokens t join oauth_grants g on g.id = t.grant_id
          where t.token_hash = $1 and t.expires_at > now() and t.revoked_at is null and g.revoked_at is null
            and ${accountAdmits('g.account_id', 'g.authenticated_at')}`,
}

export async function findLiveAccessToken(db: Queryable, tokenHash: Buffer): Promise<LiveAccessToken | null> {
  const { rows } = await db.query<{
    grant_id: string
    client_id: string
    account_id: string
    scope: string
    resources: string[]
    authenticated_at: Date
  }>(FIND_ACCESS_TOKEN, [tokenHash])
  const row = rows[0]
  if (!row) return null
  return {
    grantId: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    scope: row.scope,
    resources: row.resources,
    authenticatedAt: row.authenticated_at,
  }
}

// A use is recorded at most every ten minutes, so the idle check allows ten minutes more (docs/specification.md#personal-tokens).
const FIND_PERSONAL_TOKEN = {
  name: 'find-live-personal-token',
  text: `select id, account_id, authenticated_at,
                ${IS_IDLE} as idle,
                coalesce(last_used_at < now() - interval '10 minutes', true) as touch
           from personal_tokens
          where token_hash = $1 and revoked_at is null and expires_at > now()
            and ${accountAdmits('personal_tokens.account_id', 'personal_tokens.authenticated_at')}`,
}

export async function findLivePersonalToken(
  db: Queryable,
  tokenHash: Buffer,
): Promise<LivePersonalToken | null> {
  const { rows } = await db.query<{
    id: string
    account_id: string
    authenticated_at: Date
    idle: boolean
    touch: boolean
  }>(FIND_PERSONAL_TOKEN, [tokenHash])
  const row = rows[0]
  if (!row) return null
  const { id, account_id: accountId, authenticated_at: authenticatedAt, idle, touch } = row
  return { id, accountId, authenticatedAt, idle, touch }
}

type Found = Pick<LivePersonalToken, 'id' | 'accountId'>

export async function touchPersonalToken(db: Queryable, { id, accountId }: Found): Promise<void> {
  await db.query(
    `update personal_tokens set last_used_at = now()
      where id = $1 and account_id = $2 and (last_used_at is null or last_used_at < now() - interval '10 minutes')`,
    [id, accountId],
  )
}

/** Revokes an idle token permanently. Returns false if it has been revoked in the meantime. */
export async function revokeIdlePersonalToken(db: Queryable, { id, accountId }: Found): Promise<boolean> {
  const { rowCount } = await db.query(
    `update personal_tokens set revoked_at = now(), revoke_reason = 'inactive'
      where id = $1 and account_id = $2 and revoked_at is null
        and ${IS_IDLE}`,
    [id, accountId],
  )
  return rowCount === 1
}
