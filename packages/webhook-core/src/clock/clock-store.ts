import type { Queryable } from '@signet/db'

/** The time of the database in milliseconds since 1970, when the statement ran. */
export async function readClockMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return row.ms
}
