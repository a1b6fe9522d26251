import type { Queryable } from '@signet/db'
import { publishEndedSessions, type AccountEventStore } from '../account-events/account-event-store.js'
import type { Tables } from '../database/tables.js'
import { accountColumn, toUser, type AccountRow } from '../users/user-rows.js'
import { mayUseSession } from './admission.js'
import { macMatches, type MacCheck, type PresentedToken } from './refresh-token.js'
import type { LimitTimes, StoredSession } from './session.js'
import { STORED_COLUMNS, toStoredSession, type StoredSessionRow } from './stored-session.js'

/** A token, and what the exchange stores in its session. */
export type Exchange = { presented: PresentedToken; check: MacCheck; userAgent: string; ip: string }

export type Exchanges = { exchanges: readonly Exchange[]; nonce: Buffer; how: 'waiting' | 'passing' }

export type RefreshRules = LimitTimes & {
  /** Whether audit entries are stored in the database. */
  audited: boolean
}

export type Verdict =
  | 'banned'
  /** The account is about to be deleted. */
  | 'deletion_pending'
  /** The session is past a limit, or a newer sign-in replaced it. */
  | 'expired'
  /** The session has ended, or never had this token. */
  | 'unknown'
  /**
   * The answer is the current token. The presented one was current when it was presented. Or it is the previous one, or only upgrades came
   * after it, and the reuse interval is not over.
   */
  | 'same_child'
  /** The token is being reused, which ends the session. */
  | 'reuse'
  /** An old token: its session has already ended for reuse, or rotation is off. */
  | 'already_used'
  /** The session can be advanced. It was locked or had changed when the exchange was tried. */
  | 'changed'

// The first parameters of both statements.
const [NOW, NONCE, CREATED_AFTER, ACTIVE_AFTER, LOW_AAL_CREATED_AFTER, AUDITED] = [
  '$1',
  '$2',
  '$3',
  '$4',
  '$5',
  '$6',
]
const PRESENTED = `unnest($7::uuid[], $8::int[], $9::bytea[], $10::bytea[], $11::text[], $12::text[])
  as p (id, counter, keyed, expected, user_agent, ip)`

/**
 * Exchanges refresh tokens in two statements. The first updates one row for each token that is current. The second finds out whether a
 * token that is not current is being reused. Both see the newest version of a row, because PostgreSQL checks the conditions again once it
 * has the lock.
 */
export class RefreshStore {
  readonly #exchange: { readonly [How in 'waiting' | 'passing']: string }
  readonly #checkReuse: string
  readonly #restartInterval: string
  readonly #user: string

  constructor(
    t: Tables,
    private readonly accountEvents: Pick<AccountEventStore, 'written'>,
  ) {
    const isAuthentic = macMatches({ keyed: 'p.keyed', expected: 'p.expected' }, NONCE, 's.refresh_salt')
    const isExpired = `(coalesce(s.not_after <= ${NOW}, false)
      or coalesce(s.created_at < ${CREATED_AFTER}, false)
      or coalesce(coalesce(s.refreshed_at, s.created_at) < ${ACTIVE_AFTER}, false)
      or (s.aal = 'aal1' and coalesce(s.created_at < ${LOW_AAL_CREATED_AFTER}, false) and exists (
        select 1 from ${t.mfaFactors} m where m.user_id = s.user_id and m.status = 'verified')))`
    const session = `${STORED_COLUMNS}, s.user_id, s.ip`
    const answer = `${accountColumn(t)}, f.session_id, f.aal, f.session_created_at, f.amr, f.refresh_salt, f.refresh_counter`
    const audit = (rows: string, actions: string, traits = 'null::jsonb') => `
      insert into ${t.auditLogEntries} (payload, ip_address, created_at)
      select jsonb_strip_nulls(jsonb_build_object('actor_id', u.id, 'actor_username', coalesce(u.phone, u.email, ''),
          'actor_name', u.user_metadata ->> 'full_name', 'actor_via_sso', u.is_sso_user, 'action', action,
          'log_type', 'token', 'traits', ${traits})), coalesce(f.ip, ''), ${NOW}
      from ${rows} f join ${t.users} u on u.id = f.user_id cross join unnest(${actions}) action
      where ${AUDITED}::boolean`
    const exchange = (lock: string) => `
      with ready as materialized (
        select s.id, p.user_agent, p.ip
        from ${PRESENTED}
          join ${t.sessions} s on s.id = p.id
          join ${t.users} u on u.id = s.user_id
        where s.refresh_counter = p.counter and s.revoked_at is null and ${isAuthentic} and not ${isExpired}
          and ${mayUseSession(NOW)}
        for no key update of s ${lock}
      ), advanced as (
        update ${t.sessions} s
        set refresh_counter = s.refresh_counter + 1, refreshed_at = ${NOW}, updated_at = ${NOW},
          user_agent = r.user_agent, ip = r.ip, superseded_at = null
        from ready r where s.id = r.id
        returning ${session}
      ), audit as (
        ${audit('advanced', `array['token_refreshed', 'token_revoked']`)}
      )
      select ${answer} from advanced f join ${t.users} u on u.id = f.user_id`
    this.#exchange = { waiting: exchange(''), passing: exchange('skip locked') }
    this.#restartInterval = `update ${t.sessions} set refreshed_at = $3 where id = $1 and refresh_counter = $2`
    this.#user = `select ${accountColumn(t)} from ${t.users} u where u.id = $1`
    // `seen` is the row as it was when the statement began. A token that was current then, and waited for an exchange in progress, is not
    // reused, no matter how long the commit of that exchange took. If the session ended in the meantime, the answer is `changed` and the
    // caller checks again. This statement sees the new version of the locked row only, and the same transaction may have banned the user.
    this.#checkReuse = `
      with found as (
        select ${session}, case
            when s.revoked_at is not null and seen.revoked_at is null then 'changed'
            when u.deleted_at is not null then 'unknown'
            when u.banned_until > ${NOW} then 'banned'
            when s.revoked_reason = 'reuse' then 'already_used'
            when s.revoked_reason in ('single_session', 'too_many') then 'expired'
            when s.revoked_at is not null or s.refresh_counter < p.counter then 'unknown'
            when s.refresh_counter > p.counter
              and not (s.refresh_counter = p.counter + 1
                and (not $13::boolean or s.refreshed_at >= $14 or seen.refresh_counter = p.counter))
              and not coalesce(s.superseded_at[s.refresh_counter - p.counter] >= $14, false)
              then case when $13 then 'reuse' else 'already_used' end
            when ${isExpired} then 'expired'
            when u.deletion_due_at is not null then 'deletion_pending'
            when s.refresh_counter = p.counter then 'changed'
            else 'same_child'
          end as verdict, p.ip as asking_ip
        from ${PRESENTED}
          join ${t.sessions} s on s.id = p.id
          join ${t.sessions} seen on seen.id = s.id
          join ${t.users} u on u.id = s.user_id
        where ${isAuthentic}
        for no key update of s
      ), ended as (
        update ${t.sessions} s set revoked_at = ${NOW}, revoked_reason = 'reuse', updated_at = ${NOW}
        from found f where s.id = f.session_id and f.verdict = 'reuse' and $15::boolean
        returning s.id as session_id, s.user_id, f.asking_ip as ip
      ), audit as (
        ${audit('ended', `array['session_revoked']`, `jsonb_build_object('session_id', f.session_id, 'reason', 'reuse')`)}
      ), published as materialized (
        ${publishEndedSessions(t, { ended: '(select session_id as id, user_id from ended) e', at: NOW })}
      )
      select ${answer}, f.verdict, (select sum(n) from published) as published from found f join ${t.users} u on u.id = f.user_id`
  }

  /** Starts the reuse interval of the session's previous token again at `at`. Does nothing if the session has advanced since. */
  async restartInterval(
    db: Queryable,
    { sessionId, counter }: { sessionId: string; counter: number },
    at: Date,
  ): Promise<void> {
    await db.query(this.#restartInterval, [sessionId, counter, at])
  }

  /**
   * The session with its current user, or null if the user is gone. A statement that waited for a lock sees the new version of the row that
   * it locked, but not of others.
   */
  async withUserOfNow(db: Queryable, found: StoredSession): Promise<StoredSession | null> {
    const { rows } = await db.query<AccountRow>({ name: 'refresh_user', text: this.#user }, [found.user.id])
    return rows[0] ? { ...found, user: toUser(rows[0]) } : null
  }

  /**
   * Advances every session whose current token is presented, with at most one token for each session, and returns those that advanced.
   * `passing` skips sessions that another transaction has locked instead of waiting for them.
   */
  async exchange(
    db: Queryable,
    { exchanges, nonce, how }: Exchanges,
    rules: RefreshRules,
    now: Date,
  ): Promise<Map<string, StoredSession>> {
    const { rows } = await db.query<StoredSessionRow>(
      { name: `refresh_${how}`, text: this.#exchange[how] },
      shared(exchanges, nonce, rules, now),
    )
    return new Map(rows.map((row) => [row.session_id, toStoredSession(row)]))
  }

  /**
   * Finds out why a token could not be exchanged; null if it is not one of ours. `rotation` and `advancedAfter`, the start of the reuse
   * interval, decide which tokens are too old. `ends` decides whether such a token ends its session.
   */
  async checkReuse(
    db: Queryable,
    exchange: Exchange,
    nonce: Buffer,
    rules: RefreshRules & { rotation: boolean; advancedAfter: Date; ends: boolean },
    now: Date,
  ): Promise<{ found: StoredSession; verdict: Verdict } | null> {
    const { rows } = await db.query<StoredSessionRow & { verdict: Verdict }>(
      { name: 'refresh_check_reuse', text: this.#checkReuse },
      [...shared([exchange], nonce, rules, now), rules.rotation, rules.advancedAfter, rules.ends],
    )
    const [row] = rows
    if (row?.verdict === 'reuse' && rules.ends) this.accountEvents.written(db)
    return row ? { found: toStoredSession(row), verdict: row.verdict } : null
  }
}

const shared = (exchanges: readonly Exchange[], nonce: Buffer, rules: RefreshRules, now: Date): unknown[] => [
  now,
  nonce,
  rules.createdAfter,
  rules.activeAfter,
  rules.lowAalCreatedAfter,
  rules.audited,
  exchanges.map(({ presented }) => presented.sessionId),
  exchanges.map(({ presented }) => presented.counter),
  exchanges.map(({ check }) => check.keyed),
  exchanges.map(({ check }) => check.expected),
  exchanges.map(({ userAgent }) => userAgent),
  exchanges.map(({ ip }) => ip),
]
