import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'

/** When a message to an address was last requested, whether or not one was sent. */
export class MessageRequestStore {
  constructor(private readonly t: Tables) {}

  /** Stamps the request, unless the last one came after `lastBefore`: of two concurrent requests only one succeeds. */
  async stamp(db: Queryable, id: Buffer, lastBefore: Date, now: Date): Promise<boolean> {
    const { rowCount } = await db.query(
      `insert into ${this.t.messageRequests} as m (id, asked_at) values ($1, $2)
       on conflict (id) do update set asked_at = excluded.asked_at where m.asked_at <= $3`,
      [id, now, lastBefore],
    )
    return rowCount === 1
  }

  async lastAsked(db: Queryable, id: Buffer): Promise<Date | null> {
    const { rows } = await db.query<{ asked_at: Date }>(
      `select asked_at from ${this.t.messageRequests} where id = $1`,
      [id],
    )
    return rows[0]?.asked_at ?? null
  }
}
