import type { Queryable, Tx } from '@signet/db'
import { lockPersonalTokens } from '../accounts/account-store.js'
import { accountAdmits } from '../credentials/account-access.js'
import { IS_IDLE } from '../credentials/idleness.js'
import type { PersonalToken, PersonalTokenStatus } from '../credentials/personal-token.js'

type PersonalTokenRow = {
  id: string
  name: string
  hint: string
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
  status: PersonalTokenStatus
}

const COLUMNS = `id, name, hint, created_at, expires_at, last_used_at,
  case when revoked_at is not null or ${IS_IDLE} then 'inactive'
       when expires_at <= now() then 'expired'
       else 'active' end as status`

/** Counts the tokens that the account can use, under a lock that other creations of the account wait for. */
export async function countUsableForUpdate(tx: Tx, accountId: string): Promise<number> {
  await lockPersonalTokens(tx, accountId)
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count from personal_tokens
      where account_id = $1 and revoked_at is null and expires_at > now() and not ${IS_IDLE}`,
    [accountId],
  )
  return rows[0]?.count ?? 0
}

/**
 * Returns null if the account no longer admits the sign-in. Call it after {@link lockPersonalTokens}, so that it cannot miss a
 * sign-out.
 */
export async function insertPersonalToken(
  tx: Tx,
  token: {
    accountId: string
    authenticatedAt: Date
    name: string
    tokenHash: Buffer
    hint: string
    days: number
  },
): Promise<PersonalToken | null> {
  const { rows } = await tx.query<PersonalTokenRow>(
    `insert into personal_tokens (account_id, name, token_hash, hint, expires_at, authenticated_at)
     select $1, $2, $3, $4, now() + make_interval(days => $5), $6
      where ${accountAdmits('$1::uuid', '$6::timestamptz')}
  returning ${COLUMNS}`,
    [token.accountId, token.name, token.tokenHash, token.hint, token.days, token.authenticatedAt],
  )
  return rows[0] ? toPersonalToken(rows[0]) : null
}

/** Newest first. Revoked tokens are gone, but one that ended because it was idle stays until its owner removes it. */
export async function listPersonalTokens(db: Queryable, accountId: string): Promise<PersonalToken[]> {
  const { rows } = await db.query<PersonalTokenRow>(
    `select ${COLUMNS} from personal_tokens
      where account_id = $1 and (revoked_at is null or revoke_reason = 'inactive')
      order by id desc`,
    [accountId],
  )
  return rows.map(toPersonalToken)
}

/** Returns false if the account no longer has such a token. */
export async function revokePersonalToken(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update personal_tokens set revoked_at = now(), revoke_reason = 'revoked_by_user'
      where account_id = $1 and id = $2 and (revoked_at is null or revoke_reason = 'inactive')`,
    [accountId, id],
  )
  return rowCount === 1
}

const toPersonalToken = (row: PersonalTokenRow): PersonalToken => ({
  id: row.id,
  name: row.name,
  hint: row.hint,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
  status: row.status,
})
