import { waitFor } from './wait-for.js'

/** Any pool of connections. Not a transaction: PostgreSQL shows it the connections and statements of its first look again and again. */
type Pool = { query<R extends object>(text: string): Promise<{ rows: R[] }> }

/** Resolves at the moment that a race test needs: exactly `count` statements of this database (or more) wait for a lock. */
export async function lockWaiters(db: Pool, count: number, { orMore = false } = {}): Promise<void> {
  await waitFor(
    async () => {
      const { rows } = await db.query<{ waiting: number }>(
        `select count(*)::integer as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      const waiting = rows[0]?.waiting ?? 0
      return waiting === count || (orMore && waiting > count)
    },
    { describe: `${count} statements that wait for a lock` },
  )
}
