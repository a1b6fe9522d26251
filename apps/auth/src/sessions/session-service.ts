import { type Db, type Queryable, type Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import { type AuditLog } from '../audit/audit-log.js'
import { auditPayload } from '../audit/audit.js'
import { authError, userBanned } from '../errors/auth-error.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { isBanned, type User } from '../users/user.js'
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

  /** The user of a session that may still be used; null when it ended, or the user may not sign in any more. */
  async findLive(userId: string, sessionId: string): Promise<{ user: User; session: Session } | null> {
    const { db, sessions, limits, now } = this.deps
    const found = await sessions.findCaller(db, userId, sessionId)
    if (found === null || found.session === null || found.session.revokedAt !== null) return null
    const { user, session } = found
    if (user.deletedAt !== null || isBanned(user, now()) || isExpired(session, limits, now())) return null
    return { user, session }
  }

  /** As {@link resume}, outside a transaction; refuses where that finds nothing. */
  async resumeNow(user: User, sessionId: string): Promise<SignedIn> {
    const signedIn = await this.resume(this.deps.db, user, sessionId)
    if (signedIn === null) throw sessionNotFound()
    return signedIn
  }

  /** What the opening of a session once answered, for one that is open; null when it has ended. */
  async resume(db: Queryable, user: User, sessionId: string): Promise<SignedIn | null> {
    const { sessions, refreshTokens, limits, now } = this.deps
    const session = await sessions.find(db, sessionId)
    if (session === null || session.revokedAt !== null || isExpired(session, limits, now())) return null
    const tokenId = await sessions.activeTokenId(db, sessionId)
    if (tokenId === null) return null
    const amr = await sessions.amrOf(db, sessionId)
    return { user, session, amr, refreshToken: refreshTokens.ofRow(tokenId).text }
  }

  /** Refuses an administrator's token whose session has ended (contract 1.21). */
  async checkLive(sessionId: string): Promise<void> {
    const { db, sessions, limits, now } = this.deps
    const session = await sessions.find(db, sessionId)
    if (session === null || session.revokedAt !== null) throw sessionNotFound()
    const caller = await sessions.findCaller(db, session.userId, session.id)
    if (caller !== null && isBanned(caller.user, now())) throw userBanned('forbidden')
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
