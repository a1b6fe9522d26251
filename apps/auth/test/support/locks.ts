import { waitFor } from '@signet/testkit'
import type { TestServer } from './server.js'

/** Resolves once this many statements of the server's database wait for a lock. */
export const waitForLocks = ({ context }: TestServer, count: number): Promise<unknown> =>
  waitFor(async () => {
    const { rows } = await context.db.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.waiting === count
  })
