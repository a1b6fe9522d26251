import type { Db } from '@signet/db'
import { waitFor } from '@signet/testkit'

/** Waits for the moment that a race test needs: exactly `count` statements of this database (or more) wait for a lock. */
export async function lockWaiters(db: Db, count: number, { orMore = false } = {}): Promise<void> {
  await waitFor(
    async () => {
      const { rows } = await db.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return rows.length === count || (orMore && rows.length > count)
    },
    { describe: `${count} statements that wait for a lock` },
  )
}
