import { type Queryable, type Tx } from '@signet/db'

/** Ends the browser sessions of an account, and with them its pending authorizations. */
export async function deleteSessions(tx: Tx, accountId: string): Promise<number> {
  return affected(await tx.query('delete from login_sessions where account_id = $1', [accountId]))
}

export async function revokeGrants(tx: Tx, accountId: string, reason: string): Promise<number> {
  return affected(
    await tx.query(
      'update oauth_grants set revoked_at = now(), revoke_reason = $2 where account_id = $1 and revoked_at is null',
      [accountId, reason],
    ),
  )
}

export async function revokePersonalTokens(tx: Tx, accountId: string, reason: string): Promise<number> {
  return affected(
    await tx.query(
      'update personal_tokens set revoked_at = now(), revoke_reason = $2 where account_id = $1 and revoked_at is null',
      [accountId, reason],
    ),
  )
}

/** From now on user JWTs issued before this moment do not count. */
export async function recordCutoff(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `insert into account_cutoffs (account_id) values ($1)
     on conflict (account_id) do update set revoked_at = excluded.revoked_at`,
    [accountId],
  )
}

export async function isCutOff(db: Queryable, accountId: string, issuedAt: Date): Promise<boolean> {
  const { rows } = await db.query<{ cut_off: boolean }>(
    'select exists (select from account_cutoffs where account_id = $1 and revoked_at >= $2) as cut_off',
    [accountId, issuedAt],
  )
  return rows[0]?.cut_off ?? false
}

const affected = ({ rowCount }: Awaited<ReturnType<Queryable['query']>>) => rowCount ?? 0
