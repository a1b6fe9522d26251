import type { Queryable } from '@signet/db'
import { sessionAdmits } from '../credentials/account-access.js'

/** An authorization request that waits for a decision. */
export type NewAuthorization = {
  txnHash: Buffer
  sessionHash: Buffer
  clientId: string
  redirectUri: string
  redirectUriSent: boolean
  state: string | null
  scope: string
  resources: readonly string[]
  codeChallenge: string
  /** Requires a sign-in after the request, even if a person is already signed in. */
  freshLogin: boolean
  /** How many seconds before the request the person may have proved who they are. Null for any. */
  maxAge: number | null
}

export type PendingAuthorization = {
  clientName: string
  redirectUri: string
  scope: string
  /** True if nobody is signed in, or if the sign-in does not count for this request (prompt, max_age). */
  needsSignIn: boolean
  freshLogin: boolean
  /** As in {@link NewAuthorization}. */
  maxAge: number | null
  /** Whether the client can renew its access. */
  refreshes: boolean
}

export type Decision = {
  clientId: string
  accountId: string
  redirectUri: string
  state: string | null
}

const TXN_LIFE = `interval '10 minutes'`

/** How far the clocks of the identity server and of this database may differ. */
export const CLOCK_SKEW_SECONDS = 30
const CLOCK_SKEW = `interval '${CLOCK_SKEW_SECONDS} seconds'`

/** Whether session `s` does not meet the requirements of request `a`, in SQL. Both consent and decision use this condition. */
const NEEDS_SIGN_IN = `(s.account_id is null
  or (a.fresh_login and coalesce(s.signed_in_at < a.created_at, true))
  or (a.proved_after is not null and coalesce(s.proved_at < a.proved_after, true)))`

/** Stores a request, and returns whether its session must sign in. */
export async function insertAuthorization(db: Queryable, authorization: NewAuthorization): Promise<boolean> {
  const { rows } = await db.query<{ needs_sign_in: boolean }>(
    `with a as (
       insert into oauth_authorizations
         (txn_hash, session_hash, client_id, redirect_uri, redirect_uri_sent, state, scope, resources, code_challenge,
          fresh_login, proved_after, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() - make_interval(secs => $11) - ${CLOCK_SKEW},
               now() + ${TXN_LIFE})
       returning session_hash, fresh_login, proved_after, created_at
     )
     select ${NEEDS_SIGN_IN} as needs_sign_in from a join login_sessions s on s.id_hash = a.session_hash`,
    [
      authorization.txnHash,
      authorization.sessionHash,
      authorization.clientId,
      authorization.redirectUri,
      authorization.redirectUriSent,
      authorization.state,
      authorization.scope,
      authorization.resources,
      authorization.codeChallenge,
      authorization.freshLogin,
      authorization.maxAge,
    ],
  )
  return rows[0]?.needs_sign_in !== false
}

/** Finds only requests of this session that are undecided and not expired. */
export async function findPendingAuthorization(
  db: Queryable,
  { txnHash, sessionHash }: { txnHash: Buffer; sessionHash: Buffer },
): Promise<PendingAuthorization | null> {
  const { rows } = await db.query<{
    client_name: string
    redirect_uri: string
    scope: string
    needs_sign_in: boolean
    fresh_login: boolean
    max_age: number | null
    refreshes: boolean
  }>(
    `select c.client_name, a.redirect_uri, a.scope,
            ${NEEDS_SIGN_IN} as needs_sign_in, a.fresh_login,
            extract(epoch from a.created_at - a.proved_after - ${CLOCK_SKEW})::integer as max_age,
            'refresh_token' = any (c.grant_types) as refreshes
       from oauth_authorizations a
       join oauth_clients c on c.client_id = a.client_id
       join login_sessions s on s.id_hash = a.session_hash
      where a.txn_hash = $1 and a.session_hash = $2 and a.decided_at is null and a.expires_at > now()
        and c.disabled_at is null`,
    [txnHash, sessionHash],
  )
  const row = rows[0]
  return row
    ? {
        clientName: row.client_name,
        redirectUri: row.redirect_uri,
        scope: row.scope,
        needsSignIn: row.needs_sign_in,
        freshLogin: row.fresh_login,
        maxAge: row.max_age,
        refreshes: row.refreshes,
      }
    : null
}

/**
 * Consumes a pending authorization and, if approved, creates the grant and its code, all in one statement: of two simultaneous
 * decisions, only one finds the row undecided. The update locks the authorization. A revocation of the account must delete that row
 * together with the session, so neither can miss the other.
 */
export async function decideAuthorization(
  db: Queryable,
  decision: {
    txnHash: Buffer
    sessionHash: Buffer
    /** Null denies the request. */
    codeHash: Buffer | null
    codeTtlSeconds: number
  },
): Promise<Decision | null> {
  const { rows } = await db.query<{
    client_id: string
    account_id: string
    redirect_uri: string
    state: string | null
  }>(
    `with decided as (
       update oauth_authorizations a set decided_at = now()
         from login_sessions s, oauth_clients c
        where a.txn_hash = $1 and a.session_hash = $2 and s.id_hash = a.session_hash
          and c.client_id = a.client_id and c.disabled_at is null
          and a.decided_at is null and a.expires_at > now()
          and not ${NEEDS_SIGN_IN}
          and ${sessionAdmits('s')}
       returning a.client_id, a.redirect_uri, a.redirect_uri_sent, a.state, a.scope, a.resources, a.code_challenge,
                 s.account_id, s.email, s.authenticated_at
     ), granted as (
       insert into oauth_grants (account_id, client_id, scope, resources, email, authenticated_at)
       select account_id, client_id, scope, resources, coalesce(email, ''), authenticated_at from decided where $3::bytea is not null
       returning id
     ), coded as (
       insert into oauth_codes
         (code_hash, grant_id, client_id, redirect_uri, redirect_uri_sent, code_challenge, expires_at)
       select $3, granted.id, client_id, redirect_uri, redirect_uri_sent, code_challenge,
              now() + make_interval(secs => $4)
         from decided, granted
     ), used as (
       update oauth_clients c set last_used_at = now()
         from decided, granted
        where c.client_id = decided.client_id
          and (c.last_used_at is null or c.last_used_at < now() - interval '1 day')
     )
     select client_id, account_id, redirect_uri, state from decided`,
    [decision.txnHash, decision.sessionHash, decision.codeHash, decision.codeTtlSeconds],
  )
  const row = rows[0]
  return row
    ? { clientId: row.client_id, accountId: row.account_id, redirectUri: row.redirect_uri, state: row.state }
    : null
}

/** Whether a code can still be exchanged. */
export async function isOpenCode(db: Queryable, codeHash: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from oauth_codes where code_hash = $1 and used_at is null and expires_at > now()',
    [codeHash],
  )
  return rowCount === 1
}
