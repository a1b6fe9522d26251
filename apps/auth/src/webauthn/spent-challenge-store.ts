import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'

/** Challenges that have been answered. */
export class SpentChallengeStore {
  constructor(private readonly t: Tables) {}

  /** Returns true only for the first caller. */
  async spend(db: Queryable, id: string, expiresAt: Date): Promise<boolean> {
    const { rowCount } = await db.query(
      `insert into ${this.t.webauthnSpentChallenges} (id, expires_at) values ($1, $2) on conflict do nothing`,
      [id, expiresAt],
    )
    return rowCount === 1
  }
}
