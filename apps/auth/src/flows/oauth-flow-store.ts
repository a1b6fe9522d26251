import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { Challenge } from './pkce.js'

/** A flow through an external provider; its id is the OAuth state (decision 0131). */
export type OAuthFlow = {
  readonly id: string
  readonly provider: string
  readonly challenge: Challenge | null
  /** Where the user is sent at the end. */
  readonly referrer: string
  readonly inviteTokenHash: Buffer | null
  /** The user who adds a sign-in method instead of signing in, and the session that asked for it. */
  readonly linkingTarget: { readonly userId: string; readonly sessionId: string } | null
  readonly emailOptional: boolean
  /** Sealed protocol state, such as the secret of a request token. */
  readonly secret: string | null
}

export type Claim =
  | { kind: 'claimed'; flow: OAuthFlow; createdAt: Date }
  | { kind: 'unknown' }
  | { kind: 'already_used' }

/** How a PKCE flow ends: with a code for the client and the provider's tokens. */
export type OAuthFlowResult = {
  userId: string
  codeHash: Buffer
  /** Sealed. */
  accessToken: string
  refreshToken: string | null
}

type Row = {
  id: string
  provider_type: string
  code_challenge: string | null
  code_challenge_method: 's256' | 'plain' | null
  referrer: string
  invite_token_hash: Buffer | null
  linking_target_id: string | null
  linking_session_id: string | null
  email_optional: boolean
  provider_secret: string | null
  created_at: Date
}

const METHOD = 'oauth'

export class OAuthFlowStore {
  constructor(private readonly t: Tables) {}

  async insert(db: Queryable, flow: OAuthFlow, now: Date): Promise<void> {
    await db.query(
      `insert into ${this.t.flowState} (id, provider_type, authentication_method, code_challenge,
         code_challenge_method, referrer, invite_token_hash, linking_target_id, linking_session_id, email_optional,
         provider_secret, created_at, updated_at)
       values ($1, $2, '${METHOD}', $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`,
      [
        flow.id,
        flow.provider,
        flow.challenge?.challenge ?? null,
        flow.challenge?.method ?? null,
        flow.referrer,
        flow.inviteTokenHash,
        flow.linkingTarget?.userId ?? null,
        flow.linkingTarget?.sessionId ?? null,
        flow.emailOptional,
        flow.secret,
        now,
      ],
    )
  }

  /** Claims a flow. Of several callbacks with the same state, only one gets it. */
  async claim(db: Queryable, id: string, now: Date): Promise<Claim> {
    const { rows } = await db.query<Row>(
      `update ${this.t.flowState} set claimed_at = $2, updated_at = $2
       where id = $1 and authentication_method = '${METHOD}' and claimed_at is null
       returning id, provider_type, code_challenge, code_challenge_method, referrer, invite_token_hash,
         linking_target_id, linking_session_id, email_optional, provider_secret, created_at`,
      [id, now],
    )
    if (rows[0]) return { kind: 'claimed', flow: toFlow(rows[0]), createdAt: rows[0].created_at }
    const { rows: left } = await db.query(
      `select 1 as found from ${this.t.flowState} where id = $1 and code_challenge is not null`,
      [id],
    )
    return { kind: left.length > 0 ? 'already_used' : 'unknown' }
  }

  async finish(tx: Tx, id: string, result: OAuthFlowResult, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.flowState} set user_id = $2, auth_code_hash = $3, auth_code_issued_at = $4,
         provider_access_token = $5, provider_refresh_token = $6, provider_secret = null, updated_at = $4
       where id = $1`,
      [id, result.userId, result.codeHash, now, result.accessToken, result.refreshToken],
    )
  }

  async remove(db: Queryable, id: string): Promise<void> {
    await db.query(`delete from ${this.t.flowState} where id = $1`, [id])
  }
}

function toFlow(row: Row): OAuthFlow {
  const { code_challenge: challenge, code_challenge_method: method } = row
  const { linking_target_id: userId, linking_session_id: sessionId } = row
  return {
    id: row.id,
    provider: row.provider_type,
    challenge: challenge === null || method === null ? null : { challenge, method },
    referrer: row.referrer,
    inviteTokenHash: row.invite_token_hash,
    linkingTarget: userId === null || sessionId === null ? null : { userId, sessionId },
    emailOptional: row.email_optional,
    secret: row.provider_secret,
  }
}
