import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { Challenge } from './pkce.js'

/** How the user authenticates in a flow; stored with the challenge, for `amr` (docs/specification.md#methods-in-amr). */
export const mailMethods = ['email/signup', 'invite', 'magiclink', 'recovery', 'email_change'] as const
export type MailMethod = (typeof mailMethods)[number]
export const isMailMethod = (method: string): boolean => mailMethods.some((known) => known === method)

/** A code opens either a session with a method of its own, or one beside the session of the sign-in pages for which it was issued. */
type Opens = { sessionId: null; method: MailMethod | 'oauth' } | { sessionId: string; method: 'page' }

/** A code issued for an emailed link, for the holder of the verifier. */
export type NewMailCode = {
  id: string
  userId: string
  challenge: Challenge
  method: MailMethod
  codeHash: Buffer
}

/** A sign-in that is already complete: the code opens a second session. */
export type HandOver = {
  id: string
  userId: string
  sessionId: string
  challenge: Challenge
  codeHash: Buffer
}

export type FlowState = Opens & {
  id: string
  userId: string | null
  /** The session that asked to link a sign-in method, if the flow links one. */
  linkingSessionId: string | null
  challenge: Challenge | null
  providerType: string
  providerAccessToken: string | null
  providerRefreshToken: string | null
  authCodeIssuedAt: Date | null
}

type Row = (
  | { session_id: null; authentication_method: MailMethod | 'oauth' }
  | { session_id: string; authentication_method: 'page' }
) & {
  id: string
  user_id: string | null
  linking_session_id: string | null
  code_challenge: string | null
  code_challenge_method: 's256' | 'plain' | null
  provider_type: string
  provider_access_token: string | null
  provider_refresh_token: string | null
  auth_code_issued_at: Date | null
}

/** SQL that removes the codes that a user got through emailed links. `methods` is the parameter with {@link mailMethods}. */
export const deleteCodesOfLinks = (t: Tables, { user, methods }: { user: string; methods: string }): string =>
  `delete from ${t.flowState}
   where user_id = ${user} and session_id is null and linking_session_id is null
     and authentication_method = any(${methods}::text[])`

export class FlowStore {
  constructor(private readonly t: Tables) {}

  /**
   * The challenge was stored with the link, so only the client that requested this message can redeem the code. A code that is not random
   * may exist already, from another link that was confirmed for the same challenge. It is replaced then.
   */
  async insertMailCode(tx: Tx, flow: NewMailCode, now: Date): Promise<void> {
    const { challenge, method } = flow.challenge
    await tx.query(
      `insert into ${this.t.flowState} (id, user_id, code_challenge, code_challenge_method, auth_code_hash,
         provider_type, authentication_method, auth_code_issued_at, created_at, updated_at)
       values ($1, $2, $3, $4, $5, 'email', $6, $7, $7, $7)
       on conflict (auth_code_hash) do update set user_id = excluded.user_id,
         authentication_method = excluded.authentication_method, auth_code_issued_at = excluded.auth_code_issued_at`,
      [flow.id, flow.userId, challenge, method, flow.codeHash, flow.method, now],
    )
  }

  async insertHandOver(db: Queryable, flow: HandOver, now: Date): Promise<void> {
    const { challenge, method } = flow.challenge
    await db.query(
      `insert into ${this.t.flowState} (id, user_id, session_id, code_challenge, code_challenge_method, auth_code_hash,
         provider_type, authentication_method, auth_code_issued_at, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, 'page', 'page', $7, $7, $7)`,
      [flow.id, flow.userId, flow.sessionId, challenge, method, flow.codeHash, now],
    )
  }

  async findByCode(db: Queryable, codeHash: Buffer): Promise<FlowState | null> {
    const { rows } = await db.query<Row>(
      `select id, user_id, session_id, linking_session_id, code_challenge, code_challenge_method,
         authentication_method, provider_type, provider_access_token, provider_refresh_token, auth_code_issued_at
       from ${this.t.flowState} where auth_code_hash = $1`,
      [codeHash],
    )
    return rows[0] ? toFlow(rows[0]) : null
  }

  /** Removes only those of {@link removeCodes} that emailed links led to. */
  async removeCodesOfLinks(tx: Tx, userId: string): Promise<void> {
    await tx.query(deleteCodesOfLinks(this.t, { user: '$1', methods: '$2' }), [userId, mailMethods])
  }

  /**
   * Removes a user's codes that would open a session. The code of a session lives and ends with that session, so it stays, except for codes
   * that link an account at `provider`.
   */
  async removeCodes(tx: Tx, userId: string, provider: string | null = null): Promise<void> {
    await tx.query(
      `delete from ${this.t.flowState}
       where user_id = $1 and session_id is null and (linking_session_id is null or provider_type = $2)`,
      [userId, provider],
    )
  }

  /**
   * Ends the flow; false when another request was first. `userId` is the user for whom the code was found: a code that was issued again
   * for another user meanwhile is no longer theirs.
   */
  async remove(tx: Tx, id: string, userId: string): Promise<boolean> {
    const { rowCount } = await tx.query(`delete from ${this.t.flowState} where id = $1 and user_id = $2`, [
      id,
      userId,
    ])
    return rowCount === 1
  }
}

function toFlow(row: Row): FlowState {
  const { code_challenge: challenge, code_challenge_method: method } = row
  return {
    id: row.id,
    userId: row.user_id,
    ...opens(row),
    linkingSessionId: row.linking_session_id,
    challenge: challenge === null || method === null ? null : { challenge, method },
    providerType: row.provider_type,
    providerAccessToken: row.provider_access_token,
    providerRefreshToken: row.provider_refresh_token,
    authCodeIssuedAt: row.auth_code_issued_at,
  }
}

const opens = (row: Row): Opens =>
  row.session_id === null
    ? { sessionId: null, method: row.authentication_method }
    : { sessionId: row.session_id, method: row.authentication_method }
