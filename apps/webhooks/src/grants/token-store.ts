import type { Queryable } from '@signet/db'
import { accountAdmits } from '../credentials/account-access.js'

// Every statement here is its own transaction. Once-only decisions (a code is used once, a refresh token is rotated once) are made
// under a lock by the same statement that inserts the new tokens.

export type StoredCode = {
  grantId: string
  clientId: string
  accountId: string
  redirectUri: string
  redirectUriSent: boolean
  codeChallenge: string
  expired: boolean
  used: boolean
  grantRevoked: boolean
  /** The account may not use anything of this grant, because it is banned, signed out everywhere or deleted. */
  accountRefused: boolean
  scope: string
  resources: readonly string[]
  email: string
  grantAgeSeconds: number
}

export type StoredRefreshToken = {
  grantId: string
  clientId: string
  accountId: string
  /** `parallel`: rotated after this request arrived. `grace`: rotated a moment before. `replayed`: rotated long before. */
  state: 'current' | 'parallel' | 'grace' | 'replayed'
  expired: boolean
  revoked: boolean
  /** See {@link StoredCode}. */
  accountRefused: boolean
  scope: string
  resources: readonly string[]
  email: string
  /** Salt of the refresh tokens of this grant. It never leaves the server. */
  refreshSalt: string
  grantAgeSeconds: number
}

/** New tokens of a grant, as digests. */
export type NewTokens = {
  grantId: string
  accountId: string
  accessHash: Buffer
  accessScope: string
  /** Null for all resources of the grant. */
  accessResources: readonly string[] | null
  accessSeconds: number
  /** Null to issue no refresh token. */
  refreshHash: Buffer | null
  refreshScope: string
  refreshSeconds: number
}

const ADMITTED = accountAdmits('g.account_id', 'g.authenticated_at')

const FIND_CODE = {
  name: 'find-code',
  text: `select k.grant_id, k.client_id, g.account_id, k.redirect_uri, k.redirect_uri_sent, k.code_challenge,
                k.expires_at <= now() as expired, k.used_at is not null as used,
                g.revoked_at is not null as grant_revoked, not (${ADMITTED}) as account_refused, g.scope, g.resources, g.email,
                extract(epoch from now() - g.created_at)::float8 as grant_age_seconds
           from oauth_codes k join oauth_grants g on g.id = k.grant_id
          where k.code_hash = $1`,
}

export async function findCode(db: Queryable, codeHash: Buffer): Promise<StoredCode | null> {
  const { rows } = await db.query<{
    grant_id: string
    client_id: string
    account_id: string
    redirect_uri: string
    redirect_uri_sent: boolean
    code_challenge: string
    expired: boolean
    used: boolean
    grant_revoked: boolean
    account_refused: boolean
    scope: string
    resources: string[]
    email: string
    grant_age_seconds: number
  }>(FIND_CODE, [codeHash])
  const row = rows[0]
  if (!row) return null
  return {
    grantId: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    redirectUri: row.redirect_uri,
    redirectUriSent: row.redirect_uri_sent,
    codeChallenge: row.code_challenge,
    expired: row.expired,
    used: row.used,
    grantRevoked: row.grant_revoked,
    accountRefused: row.account_refused,
    scope: row.scope,
    resources: row.resources,
    email: row.email,
    grantAgeSeconds: row.grant_age_seconds,
  }
}

/** Inserts new tokens if the first step, `head`, returns a row. The tokens are the parameters $2 to $10. */
const issueAfter = (head: string) => `
  with head as (${head}),
  access as (
    insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, expires_at, resources)
    select $2::bytea, $3::uuid, $4::uuid, $5, now() + make_interval(secs => $6), $10::text[] from head
  ), refresh as (
    insert into oauth_refresh_tokens (token_hash, grant_id, scope, expires_at)
    select $7::bytea, $3::uuid, $8, now() + make_interval(secs => $9) from head where $7::bytea is not null
    -- A refresh that is asked again has the same successor.
    on conflict (token_hash) do nothing
  )
  select 1 from head`

const REDEEM_CODE = {
  name: 'redeem-code',
  text: issueAfter(
    `update oauth_codes set used_at = now() where code_hash = $1 and used_at is null and expires_at > now() returning 1`,
  ),
}

/** Marks the code as used and inserts its tokens. Returns false if another request was first. */
export async function redeemCode(db: Queryable, codeHash: Buffer, tokens: NewTokens): Promise<boolean> {
  return (await db.query(REDEEM_CODE, [codeHash, ...parametersOf(tokens)])).rowCount === 1
}

const FIND_REFRESH_TOKEN = {
  name: 'find-refresh-token',
  text: `select r.grant_id, g.client_id, g.account_id,
                case when r.rotated_at is null then 'current'
                     when r.rotated_at > $2::timestamptz then 'parallel'
                     when r.rotated_at > clock_timestamp() - make_interval(secs => $3) then 'grace'
                     else 'replayed' end as state,
                r.expires_at <= now() as expired, r.revoked_at is not null or g.revoked_at is not null as revoked,
                not (${ADMITTED}) as account_refused,
                r.scope, g.resources, g.email, g.refresh_salt, extract(epoch from now() - g.created_at)::float8 as grant_age_seconds
           from oauth_refresh_tokens r join oauth_grants g on g.id = r.grant_id
          where r.token_hash = $1`,
}

/** `arrivedAt` is the database time at which the request arrived, as text with its microseconds. */
export async function findRefreshToken(
  db: Queryable,
  { tokenHash, arrivedAt, graceSeconds }: { tokenHash: Buffer; arrivedAt: string; graceSeconds: number },
): Promise<StoredRefreshToken | null> {
  const { rows } = await db.query<{
    grant_id: string
    client_id: string
    account_id: string
    state: StoredRefreshToken['state']
    expired: boolean
    revoked: boolean
    account_refused: boolean
    scope: string
    resources: string[]
    email: string
    grant_age_seconds: number
    refresh_salt: string
  }>(FIND_REFRESH_TOKEN, [tokenHash, arrivedAt, graceSeconds])
  const row = rows[0]
  if (!row) return null
  return {
    grantId: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    state: row.state,
    expired: row.expired,
    revoked: row.revoked,
    accountRefused: row.account_refused,
    scope: row.scope,
    resources: row.resources,
    email: row.email,
    refreshSalt: row.refresh_salt,
    grantAgeSeconds: row.grant_age_seconds,
  }
}

const ROTATE = {
  name: 'rotate-refresh-token',
  text: issueAfter(
    `update oauth_refresh_tokens r set rotated_at = clock_timestamp()
       from (select token_hash from oauth_refresh_tokens
              where token_hash = $1 and rotated_at is null and revoked_at is null
                for update skip locked) as free
      where r.token_hash = free.token_hash
  returning 1`,
  ),
}

/**
 * Rotates a current refresh token. Returns false if another request holds the row or was first. Such a request is truly parallel,
 * because this one found the token current when it arrived.
 */
export async function rotateRefreshToken(
  db: Queryable,
  tokenHash: Buffer,
  tokens: NewTokens,
): Promise<boolean> {
  return (await db.query(ROTATE, [tokenHash, ...parametersOf(tokens)])).rowCount === 1
}

const ISSUE_FURTHER = {
  name: 'issue-further-tokens',
  // Waits for the other request. If that one failed, this statement rotates the token.
  text: issueAfter(
    `update oauth_refresh_tokens set rotated_at = coalesce(rotated_at, clock_timestamp())
      where token_hash = $1 and revoked_at is null returning 1`,
  ),
}

/** Issues another access token for a refresh token that another request is rotating or has just rotated. */
export async function issueFurtherTokens(
  db: Queryable,
  tokenHash: Buffer,
  tokens: NewTokens,
): Promise<boolean> {
  return (await db.query(ISSUE_FURTHER, [tokenHash, ...parametersOf(tokens)])).rowCount === 1
}

const parametersOf = (tokens: NewTokens) => [
  tokens.accessHash,
  tokens.grantId,
  tokens.accountId,
  tokens.accessScope,
  tokens.accessSeconds,
  tokens.refreshHash,
  tokens.refreshScope,
  tokens.refreshSeconds,
  tokens.accessResources,
]

/** Ends a grant with all its tokens. Returns false if it had already ended. */
export async function revokeGrant(
  db: Queryable,
  { grantId, accountId }: { grantId: string; accountId: string },
  reason: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update oauth_grants set revoked_at = now(), revoke_reason = $3
      where id = $1 and account_id = $2 and revoked_at is null`,
    [grantId, accountId, reason],
  )
  return rowCount === 1
}
