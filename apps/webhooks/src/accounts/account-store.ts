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

const affected = ({ rowCount }: Awaited<ReturnType<Queryable['query']>>) => rowCount ?? 0
