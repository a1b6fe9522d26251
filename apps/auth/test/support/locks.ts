import { lockWaiters } from '@signet/testkit'
import type { TestServer } from './server.js'

/** Sends requests that lock a user, and holds them until all of them wait for the lock. */
export async function meetAtUser<T>(
  server: TestServer,
  userId: string,
  requests: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const { db } = server.context
  const { answers } = await db.transaction(async (tx) => {
    await tx.query('select 1 from users where id = $1 for update', [userId])
    const sent = Promise.all(requests.map((request) => request()))
    await lockWaiters(db, requests.length)
    // The object keeps the promise from being awaited here: the requests end only after this transaction.
    return { answers: sent }
  })
  return answers
}
