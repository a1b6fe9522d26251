import { type Db, type Queryable, type Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import { type AuditLog } from '../audit/audit-log.js'
import { auditPayload } from '../audit/audit.js'
import { authError } from '../errors/auth-error.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type User } from '../users/user.js'
import { type RefreshTokens } from './refresh-token.js'
import { type SessionStore } from './session-store.js'
import { isExpired, type Session, type SessionLimits, type SignedIn } from './session.js'

type Deps = {
  db: Db
  sessions: SessionStore
  refreshTokens: RefreshTokens
  audit: AuditLog
  limits: SessionLimits
  now: () => Date
}

export const logoutScopes = ['global', 'local', 'others'] as const
export type LogoutScope = (typeof logoutScopes)[number]

/** Opens and ends sessions (contract section 4). */
export class SessionService {
  constructor(private readonly deps: Deps) {}

  /** Signs in: a session of its own statement, with audit `login`. */
  async signIn(user: User, method: string, meta: RequestMeta, provider: string): Promise<SignedIn> {
    const { db, audit } = this.deps
    const payloads = [auditPayload('login', user, { provider })]
    const signedIn = await this.#open(db, user, method, meta, audit.rowsFor(payloads))
    audit.announce(payloads, meta)
    return signedIn
  }

  /** Opens a session as part of a larger change, whose audit entries tell about it. */
  open(tx: Tx, user: User, method: string, meta: RequestMeta): Promise<SignedIn> {
    return this.#open(tx, user, method, meta, null)
  }

  async #open(
    db: Queryable,
    user: User,
    method: string,
    meta: RequestMeta,
    auditRows: string | null,
  ): Promise<SignedIn> {
    const now = this.deps.now()
    const { timeboxMs } = this.deps.limits
    const refreshToken = this.deps.refreshTokens.create()
    const session = { id: randomUUID(), aal: 'aal1', createdAt: now } as const
    await this.deps.sessions.open(
      db,
      {
        ...session,
        userId: user.id,
        method,
        userAgent: meta.userAgent,
        ip: meta.ip,
        notAfter: timeboxMs === undefined ? null : new Date(now.getTime() + timeboxMs),
        refreshToken,
        auditRows,
      },
      now,
    )
    return {
      user: { ...user, lastSignInAt: now, updatedAt: now },
      session,
      amr: [{ method, at: now }],
      refreshToken: refreshToken.text,
    }
  }

  /** Refuses an administrator's token whose session has ended (contract 1.21). */
  async checkLive(sessionId: string): Promise<void> {
    const { db, sessions, limits, now } = this.deps
    const session = await sessions.find(db, sessionId)
    if (session === null || session.revokedAt !== null) throw sessionNotFound()
    if (isExpired(session, limits, now()))
      throw authError('forbidden', 'session_expired', 'Session from session_id claim in JWT has expired')
  }

  /** Contract 4.4. A token without session counts as global. */
  async logout(user: User, session: Session | null, scope: LogoutScope, meta: RequestMeta): Promise<void> {
    const { sessions, now } = this.deps
    await this.deps.audit.transaction(meta, async (tx, audit) => {
      await sessions.revoke(tx, user.id, narrowed(scope, session), now())
      audit('logout', user)
    })
  }
}

const sessionNotFound = () =>
  authError('forbidden', 'session_not_found', 'Session from session_id claim in JWT does not exist')

function narrowed(scope: LogoutScope, session: Session | null): { only?: string; except?: string } {
  if (session === null || scope === 'global') return {}
  return scope === 'local' ? { only: session.id } : { except: session.id }
}
