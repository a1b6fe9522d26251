import type { Queryable } from '@signet/db'

/** What the identity server has reported about an account. */
export type AccountState = {
  bannedUntil: Date | null
  signedOutAt: Date | null
  deletedAt: Date | null
  purgedAt: Date | null
}

export async function findAccountState(db: Queryable, accountId: string): Promise<AccountState | null> {
  const { rows } = await db.query<{
    banned_until: Date | null
    signed_out_at: Date | null
    deleted_at: Date | null
    purged_at: Date | null
  }>('select banned_until, signed_out_at, deleted_at, purged_at from account_states where account_id = $1', [
    accountId,
  ])
  const [row] = rows
  return row
    ? {
        bannedUntil: row.banned_until,
        signedOutAt: row.signed_out_at,
        deletedAt: row.deleted_at,
        purgedAt: row.purged_at,
      }
    : null
}
