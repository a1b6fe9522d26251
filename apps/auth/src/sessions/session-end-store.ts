import type { Queryable, Tx } from '@signet/db'
import { clientNetwork } from '@signet/rate-limits/network'
import { publishEndedSessions, type AccountEventStore } from '../account-events/account-event-store.js'
import type { Tables } from '../database/tables.js'
import type { Aal, EndReason } from './session.js'

/** Which of a user's sessions to end: those that meet every condition. */
type EndScope = {
  only?: string
  except?: string
  aal?: Aal
  passkeyId?: string
  /** Those that an account at this provider opened, or may have opened: older versions did not store the provider. */
  provider?: string
  /** Includes all sessions that were opened from it. */
  onlySignIn?: string
  exceptSignIn?: string
}

/** Ends sessions, except for reuse (refresh-store.ts) and when there are too many (session-bounds-store.ts). */
export class SessionEndStore {
  constructor(
    private readonly t: Tables,
    private readonly accountEvents: Pick<AccountEventStore, 'written'>,
  ) {}

  /** Whether the user has signed in before. Only sees ended sessions that are still stored. */
  async hasAny(db: Queryable, userId: string): Promise<boolean> {
    const { rows } = await db.query(`select 1 as found from ${this.t.sessions} where user_id = $1 limit 1`, [
      userId,
    ])
    return rows.length > 0
  }

  /** Ends all sessions of a user. The caller reports that to other services, once for all sessions. */
  async endAll(db: Queryable, userId: string, reason: EndReason, now: Date): Promise<void> {
    await db.query(this.#ending(), [userId, now, reason])
  }

  /**
   * Forgets the networks that a user signed in from, except that of one session. Someone who was signed out must not go on guessing
   * passwords with the owner's allowance. Also forgets networks that are known by something other than an address.
   */
  async forgetNetworks(tx: Tx, userId: string, keptSessionId: string | null): Promise<void> {
    const { t } = this
    const { rows } = await tx.query<{ ip: string | null }>(
      `select ip from ${t.sessions} where id = $1 and user_id = $2`,
      [keptSessionId, userId],
    )
    const ip = rows[0]?.ip
    await tx.query(`delete from ${t.knownNetworks} where user_id = $1 and network is distinct from $2`, [
      userId,
      ip == null ? null : clientNetwork(ip),
    ])
  }

  /**
   * Ends some sessions of a user, reports them to other services, and returns how many it ended. Sessions that had already ended keep their
   * reason.
   */
  async end(db: Queryable, userId: string, reason: EndReason, scope: EndScope, now: Date): Promise<number> {
    const ending = this.#ending(
      `and id = coalesce($4::uuid, id) and id is distinct from $5::uuid and aal = coalesce($6, aal)
       and ($7::uuid is null or passkey_id = $7) and coalesce(sign_in_id, id) = coalesce($8::uuid, sign_in_id, id)
       and coalesce(sign_in_id, id) is distinct from $9::uuid
       and ($10::text is null or exists (
         select from jsonb_array_elements(amr) proof
         where proof ->> 'method' = 'oauth' and coalesce(proof ->> 'provider', $10) = $10))`,
    )
    const { rows } = await db.query<{ ended: number }>(
      `with ended as (${ending} returning id, user_id),
         published as materialized (${publishEndedSessions(this.t, { ended: 'ended', at: '$2' })})
       select coalesce(sum(n), 0)::int as ended from published`,
      [
        userId,
        now,
        reason,
        scope.only ?? null,
        scope.except ?? null,
        scope.aal ?? null,
        scope.passkeyId ?? null,
        scope.onlySignIn ?? null,
        scope.exceptSignIn ?? null,
        scope.provider ?? null,
      ],
    )
    const ended = rows[0]?.ended ?? 0
    if (ended > 0) this.accountEvents.written(db)
    return ended
  }

  #ending(condition = ''): string {
    return `update ${this.t.sessions} set revoked_at = $2, revoked_reason = $3, updated_at = $2
       where user_id = $1 and revoked_at is null ${condition}`
  }
}
