import type { Queryable } from '@signet/db'

/**
 * `db` for work under an advisory lock: once `lost` is aborted, because the lock may belong to another process, it begins no statement.
 * Work that loops over batches cannot forget to look.
 */
export const whileLocked = (db: Queryable, lost: AbortSignal): Queryable => ({
  async query(text, values) {
    lost.throwIfAborted()
    return db.query(text, values)
  },
})
