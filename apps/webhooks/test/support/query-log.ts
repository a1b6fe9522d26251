import { type Db } from '@signet/db'

type Query = Db['query']

/** Texts of the statements that the service sends outside of transactions while `work` runs. */
export async function queriesDuring(db: Db, work: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const query: Query = db.query.bind(db)
  db.query = (statement: string | { text: string }, ...rest: never[]) => {
    texts.push(typeof statement === 'string' ? statement : statement.text)
    return query(statement as never, ...rest)
  }
  try {
    await work()
  } finally {
    db.query = query
  }
  return texts
}
