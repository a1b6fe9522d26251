import { type Queryable } from '@signet/db'
import { type Tables } from '../tables.js'
import { accountColumn, toUser, type AccountRow } from '../users/user-rows.js'
import { type User } from '../users/user.js'
import { type RefreshToken } from './refresh-token.js'
import { amrColumn, toAmr } from './session-store.js'
import { type Aal, type AmrEntry, type Session } from './session.js'

/** Earliest times that the limits of contract 4.3 still accept; null is no limit. */
export type RefreshLimits = {
  createdAfter: Date | null
  activeAfter: Date | null
  lowAalCreatedAfter: Date | null
  singlePerUser: boolean
}

export type Exchange = {
  hash: Buffer
  child: RefreshToken
  limits: RefreshLimits
  userAgent: string
  ip: string
  audited: boolean
}

/** The session of a token that was found, and what became of the token. */
export type Found<Verdict> = {
  verdict: Verdict
  user: User
  session: Pick<Session, 'id' | 'aal' | 'createdAt'>
  amr: AmrEntry[]
}
export type ExchangeVerdict = 'rotated' | 'banned' | 'expired' | 'not_active'
/** `changed`: the session moved on while this statement waited for its lock, so it must be judged again. */
export type ReuseVerdict = 'same_child' | 'attack' | 'refused' | 'changed'

type FoundRow<V> = AccountRow & {
  verdict: V
  session_id: string
  aal: Aal
  session_created_at: Date
  amr: { method: string; at: string }[] | null
  child_id: string | null
}

/**
 * The exchange of contract 4.2. Each method is one statement and so one transaction: the session row is locked first,
 * and every later step names rows by conditions that PostgreSQL checks again on their newest version.
 */
export class RefreshStore {
  readonly #exchange: string
  readonly #judge: string

  constructor(t: Tables) {
    const auditRow = (
      action: string,
    ) => `jsonb_strip_nulls(jsonb_build_object('actor_id', u.id, 'actor_username',
      coalesce(u.phone, u.email, ''), 'actor_name', u.user_metadata ->> 'full_name', 'actor_via_sso', u.is_sso_user,
      'action', ${action}, 'log_type', 'token'))`
    const answer = `${accountColumn(t)}, f.session_id, f.aal, f.session_created_at, ${amrColumn(t, 'f.session_id')} as amr`
    this.#exchange = `
      with found as (
        select r.id as token_id, s.id as session_id, s.user_id, s.aal, s.created_at as session_created_at,
          coalesce(u.banned_until > $2, false) as banned,
          coalesce(s.not_after <= $2, false)
            or coalesce(s.created_at < $3, false)
            or coalesce(coalesce(s.refreshed_at, s.created_at) < $4, false)
            or (s.aal = 'aal1' and coalesce(s.created_at < $5, false) and exists (
              select 1 from ${t.mfaFactors} m where m.user_id = s.user_id and m.status = 'verified'))
            or ($6::boolean and exists (
              select 1 from ${t.sessions} o
              where o.user_id = s.user_id and o.id <> s.id and o.revoked_at is null
                and coalesce(o.refreshed_at, o.created_at) > coalesce(s.refreshed_at, s.created_at))) as expired
        from ${t.refreshTokens} r
          join ${t.sessions} s on s.id = r.session_id
          join ${t.users} u on u.id = s.user_id
        where r.token_hash = $1
        for no key update of s
      ), rotated as (
        update ${t.refreshTokens} r set revoked = true, revoked_at = $2
        from found f
        where r.id = f.token_id and not r.revoked and not f.banned and not f.expired
        returning r.id, r.session_id, r.user_id
      ), child as (
        insert into ${t.refreshTokens} (id, token_hash, parent_id, session_id, user_id, created_at)
        select $7, $8, id, session_id, user_id, $2 from rotated
      ), touched as (
        update ${t.sessions} s set refreshed_at = $2, updated_at = $2, user_agent = $9, ip = $10
        from rotated where s.id = rotated.session_id
      ), audit as (
        insert into ${t.auditLogEntries} (payload, ip_address, created_at)
        select ${auditRow('action')}, $10, $2
        from rotated join ${t.users} u on u.id = rotated.user_id
          cross join (values ('token_refreshed'), ('token_revoked')) actions (action)
        where $11::boolean
      )
      select ${answer}, case
          when f.banned then 'banned'
          when f.expired then 'expired'
          when exists (select 1 from rotated) then 'rotated'
          else 'not_active'
        end as verdict
      from found f join ${t.users} u on u.id = f.user_id`
    this.#judge = `
      with found as (
        select r.id as token_id, r.revoked_at, s.id as session_id, s.user_id, s.aal,
          s.created_at as session_created_at
        from ${t.refreshTokens} r join ${t.sessions} s on s.id = r.session_id
        where r.token_hash = $1
        for no key update of s
      ), seen as (
        select r.id from ${t.refreshTokens} r join found f on r.session_id = f.session_id where not r.revoked
      ), active as (
        select r.id, r.parent_id from ${t.refreshTokens} r join found f on r.session_id = f.session_id
        where not r.revoked
        for no key update of r
      ), judged as (
        select f.session_id, case
            when exists (select 1 from seen) and not exists (select 1 from active) then 'changed'
            when (select parent_id from active) = f.token_id
              and (not $4::boolean or f.revoked_at >= $3) then 'same_child'
            when $4::boolean then 'attack'
            else 'refused'
          end as verdict
        from found f
      ), revoked as (
        update ${t.refreshTokens} r set revoked = true, revoked_at = $2
        from judged
        where judged.verdict = 'attack' and r.session_id = judged.session_id and not r.revoked
        returning r.user_id
      ), audit as (
        insert into ${t.auditLogEntries} (payload, ip_address, created_at)
        select ${auditRow(`'token_revoked'`)}, $5, $2
        from revoked join ${t.users} u on u.id = revoked.user_id
        where $6::boolean
      )
      select ${answer}, judged.verdict, (select id from active) as child_id
      from found f join judged on true join ${t.users} u on u.id = f.user_id`
  }

  /** Swaps an active token for `child`; null when the token is unknown. */
  async exchange(db: Queryable, input: Exchange, now: Date): Promise<Found<ExchangeVerdict> | null> {
    const { limits, child } = input
    const { rows } = await db.query<FoundRow<ExchangeVerdict>>(
      { name: 'refresh_exchange', text: this.#exchange },
      [
        input.hash,
        now,
        limits.createdAfter,
        limits.activeAfter,
        limits.lowAalCreatedAfter,
        limits.singlePerUser,
        child.id,
        child.hash,
        input.userAgent,
        input.ip,
        input.audited,
      ],
    )
    return rows[0] ? toFound(rows[0]) : null
  }

  /**
   * Judges a token that is not active any more. `revokedAfter` is the start of the reuse interval; `rotation` says
   * whether anything but a reuse inside it ends the session. The end is committed with this statement, so it survives
   * the request that it fails.
   */
  async judgeReuse(
    db: Queryable,
    input: { hash: Buffer; revokedAfter: Date; rotation: boolean; ip: string; audited: boolean },
    now: Date,
  ): Promise<(Found<ReuseVerdict> & { childId: string | null }) | null> {
    const { rows } = await db.query<FoundRow<ReuseVerdict>>({ name: 'refresh_judge', text: this.#judge }, [
      input.hash,
      now,
      input.revokedAfter,
      input.rotation,
      input.ip,
      input.audited,
    ])
    return rows[0] ? { ...toFound(rows[0]), childId: rows[0].child_id } : null
  }
}

function toFound<V>(row: FoundRow<V>): Found<V> {
  return {
    verdict: row.verdict,
    user: toUser(row),
    session: { id: row.session_id, aal: row.aal, createdAt: row.session_created_at },
    amr: toAmr(row.amr),
  }
}
