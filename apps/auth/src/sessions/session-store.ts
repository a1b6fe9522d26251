import { type Queryable, type Tx } from '@signet/db'
import { type Tables } from '../tables.js'
import { accountColumn, toUser, type AccountRow } from '../users/user-rows.js'
import { type User } from '../users/user.js'
import { type RefreshToken } from './refresh-token.js'
import { type Aal, type AmrEntry, type Session } from './session.js'

export type NewSession = {
  id: string
  userId: string
  aal: Aal
  method: string
  userAgent: string
  ip: string
  notAfter: Date | null
  refreshToken: RefreshToken
  /** Audit rows to write along with it, as a JSON array. */
  auditRows: string | null
}

/** Times are dates in a row, and text inside JSON. */
type SessionRow<Time = Date> = {
  id: string
  user_id: string
  aal: Aal
  factor_id: string | null
  refreshed_at: Time | null
  not_after: Time | null
  revoked_at: Time | null
  created_at: Time
}
type CallerRow = AccountRow & { session: SessionRow<string> | null }

const COLUMNS = 'id, user_id, aal, factor_id, refreshed_at, not_after, revoked_at, created_at'

/** SQL for the `amr` of session `s`, newest first, as JSON; read with {@link toAmr}. */
export const amrColumn = (t: Tables, sessionId: string): string => `
  (select json_agg(json_build_object('method', a.authentication_method, 'at', a.updated_at)
     order by a.updated_at desc, a.authentication_method)
   from ${t.amrClaims} a where a.session_id = ${sessionId})`

export const toAmr = (json: { method: string; at: string }[] | null): AmrEntry[] =>
  (json ?? []).map(({ method, at }) => ({ method, at: new Date(at) }))

export class SessionStore {
  readonly #open: string
  readonly #caller: string

  constructor(private readonly t: Tables) {
    this.#open = `
      with session as (
        insert into ${t.sessions} (id, user_id, aal, user_agent, ip, not_after, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $7)
      ), amr as (
        insert into ${t.amrClaims} (session_id, authentication_method, created_at, updated_at)
        values ($1, $8, $7, $7)
      ), refresh_token as (
        insert into ${t.refreshTokens} (id, token_hash, session_id, user_id, created_at)
        values ($9, $10, $1, $2, $7)
      ), audit as (
        insert into ${t.auditLogEntries} (payload, ip_address, created_at)
        select payload, $5, $7 from jsonb_array_elements(coalesce($11::jsonb, '[]')) as payload
      )
      update ${t.users} set last_sign_in_at = $7, updated_at = $7 where id = $2`
    this.#caller = `
      select ${accountColumn(t)},
        (select row_to_json(s) from (
           select ${COLUMNS} from ${t.sessions} where id = $2 and user_id = u.id) s) as session
      from ${t.users} u where u.id = $1`
  }

  /** Session, its first `amr` entry, its first refresh token and the user's sign-in time: one statement. */
  async open(db: Queryable, session: NewSession, now: Date): Promise<void> {
    await db.query({ name: 'session_open', text: this.#open }, [
      session.id,
      session.userId,
      session.aal,
      session.userAgent,
      session.ip,
      session.notAfter,
      now,
      session.method,
      session.refreshToken.id,
      session.refreshToken.hash,
      session.auditRows,
    ])
  }

  /** The user of a bearer token and, if the token names one that exists, the session. */
  async findCaller(
    db: Queryable,
    userId: string,
    sessionId: string | null,
  ): Promise<{ user: User; session: Session | null } | null> {
    const { rows } = await db.query<CallerRow>({ name: 'session_caller', text: this.#caller }, [
      userId,
      sessionId,
    ])
    const row = rows[0]
    return row ? { user: toUser(row), session: row.session && toSession(row.session) } : null
  }

  async find(db: Queryable, id: string): Promise<Session | null> {
    const { rows } = await db.query<SessionRow>(`select ${COLUMNS} from ${this.t.sessions} where id = $1`, [
      id,
    ])
    return rows[0] ? toSession(rows[0]) : null
  }

  /** The row of the session's one refresh token that is not revoked. */
  async activeTokenId(db: Queryable, sessionId: string): Promise<string | null> {
    const { rows } = await db.query<{ id: string }>(
      `select id from ${this.t.refreshTokens} where session_id = $1 and not revoked order by created_at desc limit 1`,
      [sessionId],
    )
    return rows[0]?.id ?? null
  }

  /** How the session was opened and strengthened, newest first. */
  async amrOf(db: Queryable, sessionId: string): Promise<AmrEntry[]> {
    const { rows } = await db.query<{ amr: { method: string; at: string }[] | null }>(
      `select ${amrColumn(this.t, '$1')} as amr`,
      [sessionId],
    )
    return toAmr(rows[0]?.amr ?? null)
  }

  /**
   * Logout: stamps sessions and revokes their refresh tokens. `only` and `except` narrow it to one session, or to all
   * but one. Rows stay, because tokens that are out stay valid until they expire (contract 4.4).
   */
  async revoke(tx: Tx, userId: string, scope: { only?: string; except?: string }, now: Date): Promise<void> {
    const { rows } = await tx.query<{ id: string }>(
      `update ${this.t.sessions} set revoked_at = coalesce(revoked_at, $2), updated_at = $2
       where user_id = $1 and id = coalesce($3::uuid, id) and id is distinct from $4::uuid
       returning id`,
      [userId, now, scope.only ?? null, scope.except ?? null],
    )
    // A statement of its own, begun when the sessions are locked: a refresh that was faster has left a token that
    // the first statement could not see.
    await tx.query(
      `update ${this.t.refreshTokens} set revoked = true, revoked_at = $2
       where session_id = any($1::uuid[]) and not revoked`,
      [rows.map(({ id }) => id), now],
    )
  }

  /** Deletes sessions with all their tokens, except one: their access tokens stop to work on this server. */
  async removeAll(tx: Tx, userId: string, except: string | null = null): Promise<void> {
    await tx.query(`delete from ${this.t.sessions} where user_id = $1 and id is distinct from $2::uuid`, [
      userId,
      except,
    ])
  }
}

function toSession(row: SessionRow<Date | string>): Session {
  return {
    id: row.id,
    userId: row.user_id,
    aal: row.aal,
    factorId: row.factor_id,
    refreshedAt: row.refreshed_at === null ? null : new Date(row.refreshed_at),
    notAfter: row.not_after === null ? null : new Date(row.not_after),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at),
    createdAt: new Date(row.created_at),
  }
}
