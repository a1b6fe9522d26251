import type { Queryable } from '@signet/db'

/**
 * Wraps `db` for work under an advisory lock: once `lost` is aborted, because the lock may belong to another process, it starts no more
 * statements. This way, work that loops over batches cannot forget to check.
 */
export const whileLocked = (db: Queryable, lost: AbortSignal): Queryable => ({
  async query(text, values) {
    lost.throwIfAborted()
    return db.query(text, values)
  },
})
