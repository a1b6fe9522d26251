import type { Db } from '@signet/db'
import { waitFor } from '@signet/testkit'

type Query = Db['query']

/** The shared clock asks from time to time, which belongs to no request. */
const isOfClock = (statement: Parameters<Query>[0]): boolean =>
  typeof statement === 'string' && statement.startsWith('select (extract(epoch from clock_timestamp())')

/** Texts of the statements that the service sends outside of transactions while `work` runs. */
export async function queriesDuring(db: Db, work: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const query: Query = db.query.bind(db)
  db.query = (statement, ...rest) => {
    if (!isOfClock(statement)) texts.push(typeof statement === 'string' ? statement : statement.text)
    return query(statement, ...rest)
  }
  try {
    await work()
  } finally {
    db.query = query
  }
  return texts
}

/** Lets the first `after` statements of `work` through and fails all later ones. */
export async function failingQueries<T>(
  db: Db,
  { after, error }: { after: number; error: Error },
  work: () => Promise<T>,
): Promise<T> {
  const query: Query = db.query.bind(db)
  let count = 0
  db.query = (statement, ...rest) => {
    if (isOfClock(statement)) return query(statement, ...rest)
    count += 1
    return count > after ? Promise.reject(error) : query(statement, ...rest)
  }
  try {
    return await work()
  } finally {
    db.query = query
  }
}

/** About how many bytes the answers to the statements have that the service sends outside of transactions while `work` runs. */
export async function receivedDuring(db: Db, work: () => Promise<unknown>): Promise<number> {
  const query: Query = db.query.bind(db)
  let received = 0
  db.query = async (...statement) => {
    const result = await query(...statement)
    if (!isOfClock(statement[0])) received += Buffer.byteLength(JSON.stringify(result.rows))
    return result as never
  }
  try {
    await work()
  } finally {
    db.query = query
  }
  return received
}

/** PostgreSQL's processes outlive the one that was killed until they notice, and answer one more statement each. */
export const everyConnectionLost = (db: Db): Promise<boolean> =>
  waitFor(() => db.pool.totalCount === 0, { describe: 'the loss of every connection' })
