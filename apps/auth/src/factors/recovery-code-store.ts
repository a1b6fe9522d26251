import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

export type RecoveryCodeCount = { total: number; left: number; createdAt: Date }

/** Single-use codes that stand in for a second factor. */
export class RecoveryCodeStore {
  constructor(private readonly t: Tables) {}

  /** Replaces all codes of the user with new ones. */
  async replace(tx: Tx, userId: string, hashes: readonly Buffer[], now: Date): Promise<void> {
    await this.removeAll(tx, userId)
    await tx.query(
      `insert into ${this.t.mfaRecoveryCodes} (user_id, code_hash, created_at)
       select $1, code_hash, $3 from unnest($2::bytea[]) as code_hash`,
      [userId, hashes, now],
    )
  }

  /** Spends a code and returns how many are left. Null if the user has no such code, or it was used before. */
  async spend(tx: Tx, userId: string, hash: Buffer, now: Date): Promise<number | null> {
    const { rows } = await tx.query<{ left: number }>(
      `with spent as (
         update ${this.t.mfaRecoveryCodes} set used_at = $3
         where user_id = $1 and code_hash = $2 and used_at is null returning user_id
       )
       select count(c.user_id)::int as left from spent
         left join ${this.t.mfaRecoveryCodes} c
           on c.user_id = spent.user_id and c.used_at is null and c.code_hash <> $2
       group by spent.user_id`,
      [userId, hash, now],
    )
    return rows[0]?.left ?? null
  }

  /** Null for a user who has none. */
  async count(db: Queryable, userId: string): Promise<RecoveryCodeCount | null> {
    const { rows } = await db.query<{ total: number; left: number; created_at: Date | null }>(
      `select count(*)::int as total, count(*) filter (where used_at is null)::int as left, max(created_at) as created_at
       from ${this.t.mfaRecoveryCodes} where user_id = $1`,
      [userId],
    )
    const [row] = rows
    return row?.created_at ? { total: row.total, left: row.left, createdAt: row.created_at } : null
  }

  async removeAll(tx: Tx, userId: string): Promise<void> {
    await tx.query(`delete from ${this.t.mfaRecoveryCodes} where user_id = $1`, [userId])
  }
}
