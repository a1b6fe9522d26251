import type { Db, Tx } from '@signet/db'
import { lockWaiters } from '@signet/testkit'

/**
 * Makes a race certain: takes a lock, starts `work`, waits until `waiting` of its statements are blocked, each with an earlier
 * snapshot of the tables, runs `meanwhile` if given, and releases the lock.
 */
export async function behindLock<T>(
  db: Db,
  lock: (tx: Tx) => Promise<unknown>,
  waiting: number,
  work: () => Promise<T>,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<T> {
  const started = await db.transaction(async (tx) => {
    await lock(tx)
    const result = work()
    result.catch(() => undefined) // the caller gets the error once the lock is released
    await lockWaiters(db, waiting, { orMore: true })
    await meanwhile()
    return { result }
  })
  return started.result
}
