import type { Db } from '@signet/db'
import { waitFor } from '@signet/testkit'

/** Longer than a holder, which checks every second, needs to notice. Both wait in this process, so a busy machine delays both. */
const NOTICED_MS = 2_000

/** Ends the connection that holds the advisory lock of this name, and waits until its holder has noticed. */
export async function loseLock(db: Db, name: string): Promise<void> {
  const { rows } = await db.query(
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
       and (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`,
    [name],
  )
  if (rows.length !== 1) throw new Error('nobody holds the lock')
  const since = performance.now()
  await waitFor(() => performance.now() - since > NOTICED_MS)
}
