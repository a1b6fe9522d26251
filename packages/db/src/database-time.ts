import type { Queryable } from './db.js'

/** A clock that is read in the database, or by a test's own. */
export type DatabaseClock = (db: Queryable) => Promise<Date>

/**
 * The time of the database; inside a transaction, the time of its start. For whatever deletes or ends something by its age: a process
 * whose clock is wrong by a month would delete everything. All processes share this clock, which also set most of the times that it is
 * compared with (decision 0257).
 */
export const databaseNow: DatabaseClock = async (db) => {
  const { rows } = await db.query<{ now: Date }>('select now()')
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return row.now
}

/** The time of the database in milliseconds since 1970, when the statement ran. */
export async function readClockMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return row.ms
}
