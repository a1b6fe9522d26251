import { type Queryable } from '@signet/db'
import { type Tables } from '../database/tables.js'

const BATCH = 500

/** What to delete from one table: rows of this condition, whose `$1` is the time before which they are too old. */
export type CleanupRule = { table: keyof Tables; condition: string; olderThan: Date }

export class CleanupStore {
  constructor(private readonly t: Tables) {}

  /** Deletes one batch and returns how many rows it was; rows that somebody works on wait for the next run. */
  async deleteBatch(db: Queryable, { table, condition, olderThan }: CleanupRule): Promise<number> {
    const { rowCount } = await db.query(
      `delete from ${this.t[table]} where id in (
         select id from ${this.t[table]} where ${condition} limit ${BATCH} for update skip locked)`,
      [olderThan],
    )
    return rowCount ?? 0
  }
}
