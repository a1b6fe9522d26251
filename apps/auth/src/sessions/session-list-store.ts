import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'
import { SESSION_COLUMNS, toSession, type SessionRow } from './session-store.js'
import type { AmrEntry, LimitTimes, Session } from './session.js'
import { toAmr, type AmrJson } from './stored-session.js'

/** A session with what its owner needs to recognize it. */
export type ListedSession = Session & { userAgent: string; ip: string; amr: readonly AmrEntry[] }

/** A sign-in with an open session, shown by the session of its device. */
export type OpenSignIn = {
  id: string
  signInId: string
  userAgent: string
  ip: string
  createdAt: Date
  usedAt: Date
}

/** The first rows of a list, and the number of all rows. */
export type Listed<T> = { rows: T[]; total: number }

type ListedRow = SessionRow & {
  user_agent: string | null
  ip: string | null
  amr: AmrJson
  total: number
}
type OpenRow = {
  id: string
  sign_in_id: string
  user_agent: string | null
  ip: string | null
  created_at: Date
  used_at: Date
  total: number
}

/** Lists one user's sessions. There may be very many: someone who knows the password can keep opening more. */
export class SessionListStore {
  readonly #open: string

  constructor(private readonly t: Tables) {
    this.#open = `
      with open as (
        select id, coalesce(sign_in_id, id) as sign_in_id, handed_over, user_agent, ip, created_at,
          coalesce(refreshed_at, created_at) as used_at
        from ${t.sessions}
        where user_id = $1 and revoked_at is null and coalesce(not_after > $2, true)
          and coalesce(created_at >= $3, true) and coalesce(coalesce(refreshed_at, created_at) >= $4, true)
      ), first as (
        select sign_in_id, max(used_at) as used_at, (count(*) over ())::int as total
        from open group by sign_in_id
        order by coalesce(sign_in_id = $5::uuid, false) desc, max(used_at) desc, sign_in_id limit $6
      )
      select distinct on (f.used_at, o.sign_in_id)
        o.id, o.sign_in_id, o.user_agent, o.ip, o.created_at, f.used_at, f.total
      from first f join open o on o.sign_in_id = f.sign_in_id
      order by f.used_at desc, o.sign_in_id, o.handed_over, o.used_at desc, o.id`
  }

  /** All sessions that are stored, including ended ones, most recently used first. */
  async newest(db: Queryable, userId: string, limit: number): Promise<Listed<ListedSession>> {
    const { rows } = await db.query<ListedRow>(
      `select ${SESSION_COLUMNS}, user_agent, ip, amr, (count(*) over ())::int as total
       from ${this.t.sessions} where user_id = $1 order by coalesce(refreshed_at, created_at) desc, id limit $2`,
      [userId, limit],
    )
    return listed(rows, (row) => ({
      ...toSession(row),
      userAgent: row.user_agent ?? '',
      ip: row.ip ?? '',
      amr: toAmr(row.amr),
    }))
  }

  /**
   * Sign-ins with an open session, most recently used first. Always includes `wanted` if it is one of them. The device of a sign-in is the
   * one that used the pages, because an application may call from its own server.
   */
  async open(
    db: Queryable,
    { userId, wanted, limit }: { userId: string; wanted: string | null; limit: number },
    { createdAfter, activeAfter }: LimitTimes,
    now: Date,
  ): Promise<Listed<OpenSignIn>> {
    const { rows } = await db.query<OpenRow>({ name: 'session_open_sign_ins', text: this.#open }, [
      userId,
      now,
      createdAfter,
      activeAfter,
      wanted,
      limit,
    ])
    return listed(rows, (row) => ({
      id: row.id,
      signInId: row.sign_in_id,
      userAgent: row.user_agent ?? '',
      ip: row.ip ?? '',
      createdAt: row.created_at,
      usedAt: row.used_at,
    }))
  }
}

const listed = <R extends { total: number }, T>(rows: readonly R[], toOne: (row: R) => T): Listed<T> => ({
  rows: rows.map(toOne),
  total: rows[0]?.total ?? 0,
})
