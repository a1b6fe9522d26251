import type { Queryable } from './db.js'

/** Reads the time from the database, or from a test's own clock. */
export type DatabaseClock = (db: Queryable) => Promise<Date>

/**
 * Returns the time of the database; inside a transaction, the time of its start. Use it to delete or end something by its age: a
 * process whose own clock is wrong by a month would delete everything. All processes share this clock, which also set most of the times
 * that it is compared with (decision 0257).
 */
export const databaseNow: DatabaseClock = async (db) => {
  const { rows } = await db.query<{ now: Date }>('select now()')
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return row.now
}

/** Returns the time of the database when the statement ran, in milliseconds since 1970. */
export async function readClockMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return row.ms
}
