import type { Queryable } from '@signet/db'

/** Deleted accounts that may still have rows, in the order of their deletion. */
// oxlint-disable-next-line signet/account-in-stores -- for the periodic removal, which serves all accounts
export async function findUnpurgedAccounts(db: Queryable, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ account_id: string }>(
    `select account_id from account_states
     where deleted_at is not null and purged_at is null order by deleted_at limit $1`,
    [limit],
  )
  return rows.map(({ account_id }) => account_id)
}

export async function markPurged(db: Queryable, accountId: string): Promise<void> {
  await db.query(
    'update account_states set purged_at = now() where account_id = $1 and deleted_at is not null and purged_at is null',
    [accountId],
  )
}
