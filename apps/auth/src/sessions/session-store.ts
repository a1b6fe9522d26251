import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import { accountColumn, toUser, type AccountRow } from '../users/user-rows.js'
import type { User } from '../users/user.js'
import { mayHaveSession } from './admission.js'
import { takeBackGuess } from './right-guess.js'
import {
  MAX_OPEN_SESSIONS,
  type Aal,
  type AmrEntry,
  type EndReason,
  type Session,
  type SignInMethod,
  type StoredSession,
} from './session.js'
import {
  STORED_COLUMNS,
  toAmr,
  toStoredSession,
  type AmrJson,
  type StoredSessionRow,
} from './stored-session.js'

export type NewSession = {
  id: string
  userId: string
  aal: Aal
  method: SignInMethod
  /** The passkey that was used, if one was. */
  passkeyId: string | null
  /** The provider, if one was used. It is stored with the proof, so sessions that are opened from this one have it, too. */
  provider: string | null
  userAgent: string
  ip: string
  /** Becomes one of the user's known networks. */
  network: string
  notAfter: Date | null
  refreshSalt: Buffer
  /** The hash of the password that the person typed. The session is only opened if it is still the user's. */
  passwordHash: string | null
  /** Audit rows to write in the same statement, as a JSON array. */
  auditRows: string | null
  /** The counter of the guess that turned out right. The guess is taken back whether or not the session is opened. */
  countedIn: Buffer | null
  /** How many networks an account knows. Beyond that, the oldest other ones are forgotten. */
  knownNetworks: number
}

export type SiblingSession = { id: string; besideId: string; notAfter: Date | null; refreshSalt: Buffer }

/** A sign-in of one person on the pages in one browser, and how long the pages remember it. */
export type PageSignIn = { signInId: string; until: Date }

/** The user and session that a bearer token names. */
export type TokenHolder = { userId: string; sessionId: string | null }

export type FoundCaller = { user: User; session: Session | null }

/** Times are dates in a row, but text inside JSON. */
export type SessionRow<Time = Date> = {
  id: string
  user_id: string
  sign_in_id: string
  handed_over: boolean
  aal: Aal
  factor_id: string | null
  passkey_id: string | null
  refreshed_at: Time | null
  not_after: Time | null
  revoked_at: Time | null
  revoked_reason: EndReason | null
  created_at: Time
}
type CallerRow = AccountRow & { session: SessionRow<string> | null; place: number }

export const SESSION_COLUMNS =
  'id, user_id, coalesce(sign_in_id, id) as sign_in_id, handed_over, aal, factor_id, passkey_id, refreshed_at, not_after, revoked_at, revoked_reason, created_at'

export class SessionStore {
  readonly #open: string
  readonly #callers: string

  constructor(private readonly t: Tables) {
    // Locks the user's row first. A ban, a deletion, a new role or a new password holds it until its commit, and the version after that
    // counts. Identities and factors are read as of the start of the statement; the gate reads them again.
    this.#open = `
      with owner as (
        update ${t.users} u set last_sign_in_at = $7, updated_at = $7
        where id = $2 and ${mayHaveSession('$7')} and coalesce(encrypted_password = $10, $10::text is null)
        returning id, ${accountColumn(t)}
      ), audit as (
        insert into ${t.auditLogEntries} (payload, ip_address, created_at)
        select payload, $5, $7 from owner cross join jsonb_array_elements(coalesce($11::jsonb, '[]')) as payload
      ), network as (
        insert into ${t.knownNetworks} as k (user_id, network, last_seen_at)
        select owner.id, $12, $7 from owner where not exists (
          select from ${t.knownNetworks}
          where user_id = $2 and network = $12 and last_seen_at > $7::timestamptz - interval '1 day'
        )
        on conflict (user_id, network) do update
        set last_seen_at = greatest(k.last_seen_at, excluded.last_seen_at)
        returning k.id
      ), older as (
        delete from ${t.knownNetworks} where exists (select from network) and id in (
          select id from ${t.knownNetworks} where user_id = $2 and network <> $12
          order by last_seen_at desc, id offset $15::int - 1
        )
      ), taken_back as (
        ${takeBackGuess(t, '$14::bytea')}
      )
      insert into ${t.sessions} as s (id, user_id, aal, user_agent, ip, not_after, created_at, updated_at, amr, refresh_salt,
        passkey_id)
      select $1, owner.id, $3, $4, $5, $6, $7, $7, $8, $9, $13::uuid from owner
      returning ${STORED_COLUMNS}, (select account from owner) as account, (select count(*)::int from (
        select 1 from ${t.sessions} where user_id = $2 and revoked_at is null limit ${MAX_OPEN_SESSIONS}) o) as beside`
    this.#callers = `
      select ${accountColumn(t)}, asked.place::int,
        (select row_to_json(s) from (
           select ${SESSION_COLUMNS} from ${t.sessions} where id = asked.session_id and user_id = u.id) s) as session
      from unnest($1::uuid[], $2::uuid[]) with ordinality as asked (user_id, session_id, place)
        join ${t.users} u on u.id = asked.user_id`
  }

  /**
   * Writes the session, audit entries, the guess and the user's sign-in time in one statement. Returns the session with its user, and how
   * many were open before, up to the maximum. Null if the user may no longer sign in.
   */
  async open(
    db: Queryable,
    session: NewSession,
    now: Date,
  ): Promise<{ opened: StoredSession; beside: number } | null> {
    const { rows } = await db.query<StoredSessionRow & { beside: number }>(
      { name: 'session_open', text: this.#open },
      [
        session.id,
        session.userId,
        session.aal,
        session.userAgent,
        session.ip,
        session.notAfter,
        now,
        proofsOf(session, now),
        session.refreshSalt,
        session.passwordHash,
        session.auditRows,
        session.network,
        session.passkeyId,
        session.countedIn,
        session.knownNetworks,
      ],
    )
    const [row] = rows
    return row ? { opened: toStoredSession(row), beside: row.beside } : null
  }

  /** The user of each bearer token, and the session if the token names one that exists. In the order of `holders`. */
  async findCallers(db: Queryable, holders: readonly TokenHolder[]): Promise<(FoundCaller | null)[]> {
    const { rows } = await db.query<CallerRow>({ name: 'session_callers', text: this.#callers }, [
      holders.map(({ userId }) => userId),
      holders.map(({ sessionId }) => sessionId),
    ])
    const found: (FoundCaller | null)[] = holders.map(() => null)
    for (const row of rows)
      found[row.place - 1] = { user: toUser(row), session: row.session && toSession(row.session) }
    return found
  }

  /** Opens another session of the same sign-in. It has the same user, level and proofs, and counts from the same time. */
  async openBeside(
    db: Queryable,
    { id, besideId, notAfter, refreshSalt }: SiblingSession,
    now: Date,
  ): Promise<void> {
    await db.query(
      `insert into ${this.t.sessions} (id, user_id, aal, factor_id, user_agent, ip, refreshed_at, not_after,
         created_at, updated_at, amr, refresh_salt, passkey_id, sign_in_id, handed_over)
       select $1, user_id, aal, factor_id, user_agent, ip, $4, $3, created_at, $4, amr, $5, passkey_id, coalesce(sign_in_id, id), true
       from ${this.t.sessions} where id = $2`,
      [id, besideId, notAfter, now, refreshSalt],
    )
  }

  /** Makes the session one of the pages, which ends no later than `until`. */
  async keepOnPages(db: Queryable, id: string, { signInId, until }: PageSignIn): Promise<void> {
    await db.query(
      `update ${this.t.sessions} set not_after = least(not_after, $2), sign_in_id = $3 where id = $1`,
      [id, until, signInId],
    )
  }

  async findCaller(db: Queryable, userId: string, sessionId: string | null): Promise<FoundCaller | null> {
    const [found] = await this.findCallers(db, [{ userId, sessionId }])
    return found ?? null
  }

  /** Locks the session until the transaction ends. The user's row must be locked first. */
  async lock(tx: Tx, userId: string, id: string): Promise<Session | null> {
    const { rows } = await tx.query<SessionRow>(
      `select ${SESSION_COLUMNS} from ${this.t.sessions} where id = $1 and user_id = $2 for no key update`,
      [id, userId],
    )
    return rows[0] ? toSession(rows[0]) : null
  }

  /** Call this with both rows locked. Otherwise, either may change before the transaction commits. */
  async find(tx: Tx, id: string): Promise<StoredSession | null> {
    const { t } = this
    const { rows } = await tx.query<StoredSessionRow>(
      `select ${accountColumn(t)}, ${STORED_COLUMNS}
       from ${t.sessions} s join ${t.users} u on u.id = s.user_id where s.id = $1`,
      [id],
    )
    return rows[0] ? toStoredSession(rows[0]) : null
  }

  /** Empty if there is no such session. */
  async amrOf(db: Queryable, id: string): Promise<readonly AmrEntry[]> {
    const { rows } = await db.query<{ amr: AmrJson }>(`select amr from ${this.t.sessions} where id = $1`, [
      id,
    ])
    return rows[0] ? toAmr(rows[0].amr) : []
  }
}

/** The column `amr` of a new session. A sign-in that needs no factor for `aal2` is stored with that level, which it keeps. */
const proofsOf = ({ method, provider, aal }: NewSession, at: Date): string =>
  JSON.stringify([{ method, at, ...(provider !== null && { provider }), ...(aal === 'aal2' && { aal }) }])

export function toSession(row: SessionRow<Date | string>): Session {
  const date = (time: Date | string | null) => (time === null ? null : new Date(time))
  return {
    id: row.id,
    userId: row.user_id,
    signInId: row.sign_in_id,
    handedOver: row.handed_over,
    aal: row.aal,
    factorId: row.factor_id,
    passkeyId: row.passkey_id,
    refreshedAt: date(row.refreshed_at),
    notAfter: date(row.not_after),
    revokedAt: date(row.revoked_at),
    revokedReason: row.revoked_reason,
    createdAt: new Date(row.created_at),
  }
}
