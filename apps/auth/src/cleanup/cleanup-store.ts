import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'

const BATCH = 500

/** What to delete from one table: rows that match `condition`, in which `$1` is the time `olderThan`. */
export type CleanupRule = { table: keyof Tables; condition: string; olderThan: Date }

export class CleanupStore {
  constructor(private readonly t: Tables) {}

  /** Deletes one batch and returns its size; locked rows are left for the next run. */
  async deleteBatch(db: Queryable, { table, condition, olderThan }: CleanupRule): Promise<number> {
    const { rowCount } = await db.query(
      `delete from ${this.t[table]} where id in (
         select id from ${this.t[table]} where ${condition} limit ${BATCH} for update skip locked)`,
      [olderThan],
    )
    return rowCount ?? 0
  }
}
