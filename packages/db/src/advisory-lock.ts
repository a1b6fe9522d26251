import type { Db } from './db.js'

/**
 * Runs `work` while holding the session advisory lock `name`, or returns undefined at once if another process holds it. For
 * periodic jobs that run on one instance at a time. The lock ends with its connection, so a killed process cannot keep it.
 */
export function withAdvisoryLock<T>(db: Db, name: string, work: () => Promise<T>): Promise<T | undefined> {
  return db.connection(async (connection) => {
    const { rows } = await connection.query<{ locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
      [name],
    )
    if (!rows[0]?.locked) return undefined
    try {
      return await work()
    } finally {
      await connection.query('select pg_advisory_unlock(hashtextextended($1, 0))', [name])
    }
  })
}
