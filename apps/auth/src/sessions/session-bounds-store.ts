import type { Queryable } from '@signet/db'
import { publishEndedSessions, type AccountEventStore } from '../account-events/account-event-store.js'
import type { Tables } from '../database/tables.js'
import { MAX_OPEN_SESSIONS } from './session.js'

/** The most rows that one statement ends or deletes. */
const BATCH = 1000

/** Limits how many sessions one user has, so that one statement can end all of them (decision 0256). */
export class SessionBoundsStore {
  readonly #makeRoom: string

  constructor(
    private readonly t: Tables,
    private readonly accountEvents: Pick<AccountEventStore, 'written'>,
  ) {
    // Skip locked rows: they belong to a request in progress, and this one must not wait for it.
    this.#makeRoom = `
      with surplus as (
        select id from ${t.sessions} where id in (
          select id from ${t.sessions} where user_id = $1 and revoked_at is null
          order by (id = $3) desc nulls last, coalesce(refreshed_at, created_at) desc, id offset ${MAX_OPEN_SESSIONS} limit ${BATCH}
        ) for no key update skip locked
      ), ended as (
        update ${t.sessions} s set revoked_at = $2, revoked_reason = 'too_many', updated_at = $2
        from surplus where s.id = surplus.id
        returning s.id, s.user_id
      ), published as materialized (${publishEndedSessions(t, { ended: 'ended', at: '$2' })})
      select coalesce(sum(n), 0)::int as ended from published`
  }

  /** Ends open sessions beyond the maximum, beginning with those used longest ago, but never `keep`. Returns how many it ended. */
  async makeRoom(db: Queryable, userId: string, now: Date, keep?: string): Promise<number> {
    const { rows } = await db.query<{ ended: number }>({ name: 'session_make_room', text: this.#makeRoom }, [
      userId,
      now,
      keep ?? null,
    ])
    const ended = rows[0]?.ended ?? 0
    if (ended > 0) this.accountEvents.written(db)
    return ended
  }

  /** Deletes a batch of a user's ended sessions. Returns false when no more are left. */
  async removeEnded(db: Queryable, userId: string): Promise<boolean> {
    const { rowCount } = await db.query(
      `delete from ${this.t.sessions} where id in (
         select id from ${this.t.sessions} where user_id = $1 and revoked_at is not null limit ${BATCH})`,
      [userId],
    )
    return rowCount === BATCH
  }
}
