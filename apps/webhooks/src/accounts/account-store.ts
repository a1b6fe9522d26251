import type { Queryable, Tx } from '@signet/db'
import { accountAdmits } from '../credentials/account-access.js'

/** Selects credentials that are derived from a sign-in at or before `signedOutAt`, by the identity server's clock. */
type Ended = { accountId: string; signedOutAt: Date; reason: string }

/** Ends browser sessions, and with them their pending authorizations. */
export async function deleteSessions(
  tx: Tx,
  { accountId, signedOutAt }: Omit<Ended, 'reason'>,
): Promise<number> {
  return affected(
    await tx.query('delete from login_sessions where account_id = $1 and authenticated_at <= $2', [
      accountId,
      signedOutAt,
    ]),
  )
}

/**
 * Records that sessions of the identity server have ended, which also stops sign-ins in progress with them, and signs out the browsers
 * that were opened with them. Returns how many. The browsers' sessions stay, without anything of the person: a new password ends the
 * earlier sessions in the middle of the sign-in that it belongs to, which must still find its state and its authorization request.
 */
// oxlint-disable-next-line signet/account-in-stores -- the identity server names sessions, and some are not known here yet
export async function endIdentitySessions(db: Queryable, sessionIds: readonly string[]): Promise<number> {
  return affected(
    await db.query(
      `with ended as (
         insert into ended_identity_sessions (id) select distinct unnest($1::uuid[]) on conflict do nothing
       ), opened as (
         select id_hash from login_sessions where identity_session_id = any ($1::uuid[]) for update
       ), handed as (
         delete from page_handovers where session_hash in (select id_hash from opened)
       ), submitted as (
         delete from page_submissions where session_hash in (select id_hash from opened)
       )
       update login_sessions
          set account_id = null, email = null, signed_in_at = null, authenticated_at = null, proved_at = null,
              identity_session_id = null
        where id_hash in (select id_hash from opened)`,
      [sessionIds],
    ),
  )
}

export async function revokeGrants(tx: Tx, { accountId, signedOutAt, reason }: Ended): Promise<number> {
  return affected(
    await tx.query(
      `update oauth_grants set revoked_at = now(), revoke_reason = $3
        where account_id = $1 and revoked_at is null and authenticated_at <= $2`,
      [accountId, signedOutAt, reason],
    ),
  )
}

/** Serializes creating tokens of an account and signing it out everywhere. */
export async function lockPersonalTokens(tx: Tx, accountId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('personal-tokens:' || $1, 0))`, [accountId])
}

export async function revokePersonalTokens(
  tx: Tx,
  { accountId, signedOutAt, reason }: Ended,
): Promise<number> {
  return affected(
    await tx.query(
      `update personal_tokens set revoked_at = now(), revoke_reason = $3
        where account_id = $1 and revoked_at is null and authenticated_at <= $2`,
      [accountId, signedOutAt, reason],
    ),
  )
}

/** Records a sign-out: nothing derived from a sign-in at or before this time works anymore, even if it is created later. */
export async function recordSignOut(tx: Tx, accountId: string, signedOutAt: Date): Promise<void> {
  await tx.query(
    `insert into account_states (account_id, signed_out_at) values ($1, $2)
     on conflict (account_id) do update
       set signed_out_at = greatest(account_states.signed_out_at, excluded.signed_out_at)`,
    [accountId, signedOutAt],
  )
}

/** Times as PostgreSQL's text, with microseconds. */
export type BanChange = { before: string | null; after: string | null }

/**
 * Records until when an account is banned (null if it is not), as decided at `decidedAt`. Returns null if a newer decision is already
 * known. Until the commit, no delivery of the account can be held.
 */
export async function recordBan(
  tx: Tx,
  { accountId, bannedUntil, decidedAt }: { accountId: string; bannedUntil: string | null; decidedAt: string },
): Promise<BanChange | null> {
  await tx.query('insert into account_states (account_id) values ($1) on conflict (account_id) do nothing', [
    accountId,
  ])
  const { rows } = await tx.query<BanChange>(
    `with earlier as (select account_id, banned_until from account_states where account_id = $1 for update)
     update account_states s set banned_until = $2::timestamptz, ban_decided_at = $3::timestamptz
       from earlier
      where s.account_id = earlier.account_id and (s.ban_decided_at is null or s.ban_decided_at <= $3::timestamptz)
  returning earlier.banned_until::text as before, s.banned_until::text as after`,
    [accountId, bannedUntil, decidedAt],
  )
  return rows[0] ?? null
}

/** Whether a user may sign in with a JWT that was issued at this time. */
export async function admitsUser(db: Queryable, accountId: string, issuedAt: Date): Promise<boolean> {
  const { rows } = await db.query<{ admitted: boolean }>(
    `select ${accountAdmits('$1::uuid', '$2::timestamptz')} as admitted`,
    [accountId, issuedAt],
  )
  return rows[0]?.admitted ?? false
}

/** Deletes the credentials of a deleted account. Codes and tokens are deleted with their grants. */
export async function deleteCredentials(db: Queryable, accountId: string): Promise<void> {
  await db.query('delete from login_sessions where account_id = $1', [accountId])
  await db.query('delete from oauth_grants where account_id = $1', [accountId])
  await db.query('delete from personal_tokens where account_id = $1', [accountId])
}

const affected = ({ rowCount }: Awaited<ReturnType<Queryable['query']>>) => rowCount ?? 0
