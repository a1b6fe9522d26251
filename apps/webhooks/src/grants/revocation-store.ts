import type { Queryable } from '@signet/db'
import { accountAdmits } from '../credentials/account-access.js'

type Owned = { tokenHash: Buffer; clientId: string }

/** Ends one access token of this client. */
export async function revokeAccessToken(db: Queryable, { tokenHash, clientId }: Owned): Promise<void> {
  await db.query(
    `update oauth_access_tokens t set revoked_at = now()
       from oauth_grants g
      where t.token_hash = $1 and t.revoked_at is null and g.id = t.grant_id and g.client_id = $2`,
    [tokenHash, clientId],
  )
}

/** Ends the grant of a refresh token of this client. Returns the grant's id, or null if there was nothing to end. */
export async function revokeGrantOfRefreshToken(
  db: Queryable,
  { tokenHash, clientId }: Owned,
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `update oauth_grants g set revoked_at = now(), revoke_reason = 'revoked_by_client'
       from oauth_refresh_tokens r
      where r.token_hash = $1 and g.id = r.grant_id and g.client_id = $2 and g.revoked_at is null
  returning g.id`,
    [tokenHash, clientId],
  )
  return rows[0]?.id ?? null
}

export type TokenDetails = {
  clientId: string | null
  accountId: string
  scope: string
  resources: readonly string[]
  issuedAt: number
  expiresAt: number
}

type DetailsRow = {
  client_id: string | null
  account_id: string
  scope: string
  resources: string[]
  issued_at: number
  expires_at: number
}

export async function describeAccessToken(db: Queryable, tokenHash: Buffer): Promise<TokenDetails | null> {
  const { rows } = await db.query<DetailsRow>(
    `select g.client_id, t.account_id, t.scope, coalesce(t.resources, g.resources) as resources,
            floor(extract(epoch from t.created_at))::float8 as issued_at,
            floor(extract(epoch from t.expires_at))::float8 as expires_at
       from oauth_access_tokens t join oauth_grants g on g.id = t.grant_id
      where t.token_hash = $1 and t.expires_at > now() and t.revoked_at is null and g.revoked_at is null
        and ${accountAdmits('g.account_id', 'g.authenticated_at')}`,
    [tokenHash],
  )
  return rows[0] ? toDetails(rows[0]) : null
}

export async function describePersonalToken(
  db: Queryable,
  tokenHash: Buffer,
  scope: string,
): Promise<TokenDetails | null> {
  const { rows } = await db.query<DetailsRow>(
    `select null as client_id, account_id, $2::text as scope, '{}'::text[] as resources,
            floor(extract(epoch from created_at))::float8 as issued_at,
            floor(extract(epoch from expires_at))::float8 as expires_at
       from personal_tokens
      where token_hash = $1 and expires_at > now() and revoked_at is null
        and ${accountAdmits('personal_tokens.account_id', 'personal_tokens.authenticated_at')}`,
    [tokenHash, scope],
  )
  return rows[0] ? toDetails(rows[0]) : null
}

const toDetails = (row: DetailsRow): TokenDetails => ({
  clientId: row.client_id,
  accountId: row.account_id,
  scope: row.scope,
  resources: row.resources,
  issuedAt: row.issued_at,
  expiresAt: row.expires_at,
})
