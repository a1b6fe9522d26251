import { waitFor } from '@signet/testkit'
import type { TestServer } from './server.js'

/** Resolves once exactly `count` statements in the server's database wait for a lock. */
export const waitForLocks = ({ context }: TestServer, count: number): Promise<unknown> =>
  waitFor(async () => {
    const { rows } = await context.db.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.waiting === count
  })

/** Sends requests that lock a user, and holds them until all of them wait for the lock. */
export async function meetAtUser<T>(
  server: TestServer,
  userId: string,
  requests: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const { answers } = await server.context.db.transaction(async (tx) => {
    await tx.query('select 1 from users where id = $1 for update', [userId])
    const sent = Promise.all(requests.map((request) => request()))
    await waitForLocks(server, requests.length)
    // The object keeps the promise from being awaited here: the requests end only after this transaction.
    return { answers: sent }
  })
  return answers
}
