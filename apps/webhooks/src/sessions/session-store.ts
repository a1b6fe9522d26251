import type { Queryable } from '@signet/db'
import { sessionAdmits } from '../credentials/account-access.js'

/** A browser session. It has no account until a person signs in, so that the sign-in form is protected too. */
export type Session = {
  readonly idHash: Buffer
  readonly accountId: string | null
  readonly email: string
  readonly csrfKey: Buffer
  readonly signedInAt: Date | null
  /** When the identity server confirmed who signed in, by the identity server's clock. */
  readonly authenticatedAt: Date | null
  /** When the person proved who they are, by the identity server's clock. */
  readonly provedAt: Date | null
}

type SessionRow = {
  id_hash: Buffer
  account_id: string | null
  email: string | null
  csrf_key: Buffer
  signed_in_at: Date | null
  authenticated_at: Date | null
  proved_at: Date | null
}

const COLUMNS = 'id_hash, account_id, email, csrf_key, signed_in_at, authenticated_at, proved_at'
const LIVE = `expires_at > now() and last_seen_at > now() - interval '1 hour'
  and ${sessionAdmits('login_sessions')}`
const ABSOLUTE_LIFE = `interval '12 hours'`

export async function touchSession(db: Queryable, idHash: Buffer): Promise<Session | null> {
  const { rows } = await db.query<SessionRow>(
    `update login_sessions set last_seen_at = now() where id_hash = $1 and ${LIVE} returning ${COLUMNS}`,
    [idHash],
  )
  return rows[0] ? toSession(rows[0]) : null
}

export async function insertSession(
  db: Queryable,
  { idHash, csrfKey }: { idHash: Buffer; csrfKey: Buffer },
): Promise<Session> {
  await db.query(
    `insert into login_sessions (id_hash, csrf_key, expires_at) values ($1, $2, now() + ${ABSOLUTE_LIFE})`,
    [idHash, csrfKey],
  )
  return {
    idHash,
    accountId: null,
    email: '',
    csrfKey,
    signedInAt: null,
    authenticatedAt: null,
    provedAt: null,
  }
}

/**
 * Who signed in, and with which session of the identity server. `authenticatedAt` is the time of the user JWT, `provedAt` the time of
 * the proof behind it.
 */
export type SignedInAccount = {
  id: string
  email: string
  identitySessionId: string | null
  authenticatedAt: Date
  provedAt: Date
}

type Renewal = {
  oldHash: Buffer
  idHash: Buffer
  csrfKey: Buffer
  account: SignedInAccount | null
}

/**
 * Gives a session a new id and key, and an account or none. Pending authorizations follow by their foreign key. Returns null if the
 * session is gone, which includes that another request renewed it first.
 */
export async function renewSession(
  db: Queryable,
  { oldHash, idHash, csrfKey, account }: Renewal,
): Promise<Session | null> {
  const { rows } = await db.query<SessionRow>(
    `update login_sessions
        set id_hash = $2, csrf_key = $3, account_id = $4, email = $5, created_at = now(), last_seen_at = now(),
            signed_in_at = case when $4::uuid is null then null else now() end, authenticated_at = $6,
            proved_at = $7, identity_session_id = $8, expires_at = now() + ${ABSOLUTE_LIFE}
      where id_hash = $1 and ${LIVE}
  returning ${COLUMNS}`,
    [
      oldHash,
      idHash,
      csrfKey,
      account?.id ?? null,
      account?.email ?? null,
      account?.authenticatedAt ?? null,
      account?.provedAt ?? null,
      account?.identitySessionId ?? null,
    ],
  )
  return rows[0] ? toSession(rows[0]) : null
}

const toSession = (row: SessionRow): Session => ({
  idHash: row.id_hash,
  accountId: row.account_id,
  email: row.email ?? '',
  csrfKey: row.csrf_key,
  signedInAt: row.signed_in_at,
  authenticatedAt: row.authenticated_at,
  provedAt: row.proved_at,
})
