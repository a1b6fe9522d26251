import { type Db, type Tx } from '@signet/db'
import { authError, insufficientAal, userBanned } from '../errors/auth-error.js'
import { type UserStore } from '../users/user-store.js'
import { hasVerifiedFactor, isBanned, type User } from '../users/user.js'
import { type SessionStore } from './session-store.js'
import { isExpired, type Held, type Live, type Session, type SessionLimits } from './session.js'

type Deps = {
  db: Db
  users: UserStore
  sessions: SessionStore
  limits: SessionLimits
  now: () => Date
}

type Found = { user: User; session: Session | null }

/**
 * The one gate of sessions: what a bearer changes, and what issues or upgrades anything for a session, has passed it.
 * A refresh asks the same in the statement that advances the session.
 */
export class SessionGate {
  constructor(private readonly deps: Deps) {}

  /** Refuses a session that is over or past its limits, and a user who may not have one. */
  admit(found: Found | null): Live {
    const { limits, now } = this.deps
    if (found === null || found.user.deletedAt !== null) throw userNotFound()
    const { user, session } = found
    // Before the session, which a ban has ended: somebody who is banned is to hear so.
    if (isBanned(user, now())) throw userBanned('forbidden')
    if (session === null || session.revokedAt !== null) throw sessionNotFound()
    if (isExpired(session, limits, now()))
      throw authError('forbidden', 'session_expired', 'Session from session_id claim in JWT has expired')
    return { user, session } as Live
  }

  /** For pages, which begin anew instead of refusing. */
  async find(userId: string, sessionId: string): Promise<Live | null> {
    const found = await this.deps.sessions.findCaller(this.deps.db, userId, sessionId)
    try {
      return this.admit(found)
    } catch {
      return null
    }
  }

  /**
   * Passes the gate again inside a transaction, and keeps it so until the end: user and session are locked, so a ban, a
   * logout or a reuse happens either before, and this refuses, or after what the transaction does.
   */
  async hold(tx: Tx, { userId, sessionId }: { userId: string; sessionId: string }): Promise<Held> {
    const { users, sessions } = this.deps
    const user = await users.lockById(tx, userId)
    return this.admit(user && { user, session: await sessions.lock(tx, userId, sessionId) }) as Held
  }
}

/** For ways in and addresses: an account with a second factor changes them only for who has shown it. */
export function requireStrong({ user, session }: Live): void {
  if (hasVerifiedFactor(user) && session.aal !== 'aal2') throw insufficientAal()
}

export const userNotFound = () =>
  authError('forbidden', 'user_not_found', 'User from sub claim in JWT does not exist')

export const sessionNotFound = () =>
  authError('forbidden', 'session_not_found', 'Session from session_id claim in JWT does not exist')
