import type { Db } from '@signet/db'
import { waitFor } from '@signet/testkit'

type Query = Db['query']

/** The shared clock queries the database from time to time, independently of requests. */
const isOfClock = (statement: Parameters<Query>[0]): boolean =>
  typeof statement === 'string' && statement.startsWith('select (extract(epoch from clock_timestamp())')

type Statement = { text: string; values: readonly unknown[] }

/** The statements that the service sends outside of transactions while `work` runs. */
export async function statementsDuring(db: Db, work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  const query: Query = db.query.bind(db)
  db.query = (statement, values) => {
    const text = typeof statement === 'string' ? statement : statement.text
    if (!isOfClock(statement)) statements.push({ text, values: values ?? [] })
    return query(statement, values)
  }
  try {
    await work()
  } finally {
    db.query = query
  }
  return statements
}

/** Only the texts of these statements. */
export const queriesDuring = async (db: Db, work: () => Promise<unknown>): Promise<string[]> =>
  (await statementsDuring(db, work)).map(({ text }) => text)

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

/** The approximate size of the results of the statements that the service sends outside of transactions while `work` runs. */
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

/** PostgreSQL's backends outlive the killed server process until they notice, and each answers one more statement. */
export const everyConnectionLost = (db: Db): Promise<boolean> =>
  waitFor(() => db.pool.totalCount === 0, { describe: 'the loss of every connection' })
