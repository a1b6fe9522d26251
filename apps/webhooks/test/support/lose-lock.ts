import type { Db, Tx } from '@signet/db'
import { waitFor } from '@signet/testkit'

/**
 * Runs `work`, in which something takes the advisory lock of this name. `lose` ends the connection that holds the lock, and waits until
 * the holder has noticed, by the failure of its next statement.
 */
export async function withLosableLock<T>(
  db: Db,
  name: string,
  work: (lose: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const transaction: Db['transaction'] = db.transaction.bind(db)
  let isNoticed = false
  const watched = (tx: Tx): Tx => {
    let isHolder = false
    const query = async <R extends object>(...[text, values]: Parameters<Tx['query']>) => {
      isHolder ||= values?.[0] === name
      try {
        return await tx.query<R>(text, values)
      } catch (error) {
        isNoticed ||= isHolder
        throw error
      }
    }
    return { ...tx, query }
  }
  db.transaction = (inside) => transaction((tx) => inside(watched(tx)))
  try {
    return await work(async () => {
      await endHolder(db, name)
      await waitFor(() => isNoticed, { describe: 'a holder that has noticed the loss' })
    })
  } finally {
    db.transaction = transaction
  }
}

async function endHolder(db: Db, name: string): Promise<void> {
  const { rows } = await db.query(
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
       and (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`,
    [name],
  )
  if (rows.length !== 1) throw new Error('nobody holds the lock')
}
