import { type Tx } from '@signet/db'
import { type Tables } from '../database/tables.js'

/** How often codes were tried against somebody. */
export class CodeAttemptStore {
  constructor(private readonly t: Tables) {}

  /** Counts one more attempt and returns how many the window has seen, this one included. */
  async count(tx: Tx, id: Buffer, now: Date, windowEndsAt: Date): Promise<number> {
    const { rows } = await tx.query<{ attempts: number }>(
      `insert into ${this.t.codeAttempts} as a (id, attempts, window_ends_at) values ($1, 1, $3)
       on conflict (id) do update set
         attempts = case when a.window_ends_at <= $2 then 1 else a.attempts + 1 end,
         window_ends_at = case when a.window_ends_at <= $2 then excluded.window_ends_at else a.window_ends_at end
       returning attempts`,
      [id, now, windowEndsAt],
    )
    return rows[0]?.attempts ?? 1
  }

  async forget(tx: Tx, id: Buffer): Promise<void> {
    await tx.query(`delete from ${this.t.codeAttempts} where id = $1`, [id])
  }
}
