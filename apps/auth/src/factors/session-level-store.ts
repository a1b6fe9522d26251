import { type Tx } from '@signet/db'
import { type RefreshToken } from '../sessions/refresh-token.js'
import { type Tables } from '../tables.js'

/** `amr` entries that make a session aal2 (contract 3.1). */
export const FACTOR_METHODS = { totp: 'totp', phone: 'mfa/phone' } as const

export type Upgrade = {
  sessionId: string
  userId: string
  factorId: string
  method: (typeof FACTOR_METHODS)[keyof typeof FACTOR_METHODS]
  refreshToken: RefreshToken
}

/** How factors raise and lower the level of sessions (contract 1.20). */
export class SessionLevelStore {
  constructor(private readonly t: Tables) {}

  /**
   * Makes a live session aal2 and swaps its refresh token. The new token has no parent, so that the old one is not
   * "just rotated": it never yields what the factor has earned. Returns when the session was opened, null when it ended.
   */
  async upgrade(
    tx: Tx,
    { sessionId, userId, factorId, method, refreshToken }: Upgrade,
    now: Date,
  ): Promise<Date | null> {
    const { rows } = await tx.query<{ created_at: Date }>(
      `update ${this.t.sessions} set aal = 'aal2', factor_id = $3, updated_at = $4
       where id = $1 and user_id = $2 and revoked_at is null returning created_at`,
      [sessionId, userId, factorId, now],
    )
    if (!rows[0]) return null
    // Statements of their own, begun when the session is locked: they see the token of a refresh that was faster.
    await tx.query(
      `update ${this.t.refreshTokens} set revoked = true, revoked_at = $2 where session_id = $1 and not revoked`,
      [sessionId, now],
    )
    await tx.query(
      `with token as (
         insert into ${this.t.refreshTokens} (id, token_hash, session_id, user_id, created_at)
         values ($1, $2, $3, $4, $5))
       insert into ${this.t.amrClaims} (session_id, authentication_method, created_at, updated_at)
       values ($3, $6, $5, $5)
       on conflict (session_id, authentication_method) do update set updated_at = excluded.updated_at`,
      [refreshToken.id, refreshToken.hash, sessionId, userId, now, method],
    )
    return rows[0].created_at
  }

  /** Ends the sessions that never showed a factor, once there is one. */
  async removeWeaker(tx: Tx, userId: string, exceptSessionId: string): Promise<void> {
    await tx.query(`delete from ${this.t.sessions} where user_id = $1 and aal = 'aal1' and id <> $2`, [
      userId,
      exceptSessionId,
    ])
  }

  /** Sessions that the factor raised fall back to aal1, before the factor goes. */
  async downgrade(tx: Tx, factorId: string, now: Date): Promise<void> {
    await tx.query(
      `with lowered as (
         update ${this.t.sessions} set aal = 'aal1', factor_id = null, updated_at = $2
         where factor_id = $1 returning id)
       delete from ${this.t.amrClaims} a using lowered
       where a.session_id = lowered.id and a.authentication_method = any($3::text[])`,
      [factorId, now, Object.values(FACTOR_METHODS)],
    )
  }
}
