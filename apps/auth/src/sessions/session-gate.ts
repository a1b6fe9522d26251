import type { Db, Tx } from '@signet/db'
import { authError, deletionPending, insufficientAal, userBanned } from '../errors/auth-error.js'
import type { UserStore } from '../users/user-store.js'
import { hasVerifiedFactor, isBanned, type User } from '../users/user.js'
import type { SessionStore } from './session-store.js'
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
 * The only gate for sessions. Every change by a bearer passes it, and so does everything that issues or upgrades tokens. A refresh makes
 * the same checks in the statement that advances the session.
 */
export class SessionGate {
  constructor(private readonly deps: Deps) {}

  /**
   * Refuses a session that has ended or is past its limits. Also refuses a user who may not have a session, or may not use it because the
   * account is about to be deleted.
   */
  admit(found: Found | null): Live {
    const live = this.#admitWhilePending(found)
    this.requireKept(live.user)
    return live
  }

  #admitWhilePending(found: Found | null): Live {
    const { limits, now } = this.deps
    // Check the user first. A ban also ends the session, and a banned user should be told the reason.
    const user = this.admitUser(found?.user ?? null)
    const session = found?.session ?? null
    if (session === null || session.revokedAt !== null) throw sessionNotFound()
    if (isExpired(session, limits, now()))
      throw authError('forbidden', 'session_expired', 'Session from session_id claim in JWT has expired')
    return { user, session } as Live
  }

  /** Refuses a user who may not have a session. */
  admitUser(user: User | null): User {
    if (user === null || user.deletedAt !== null) throw userNotFound()
    if (isBanned(user, this.deps.now())) throw userBanned('forbidden')
    return user
  }

  /** Refuses a user whose account is about to be deleted. */
  requireKept({ deletionDueAt }: User): void {
    if (deletionDueAt !== null) throw deletionPending()
  }

  /**
   * The session and its user, or null. For pages, which start over instead of showing an error. Admits an account that is about to be
   * deleted, because a page offers to keep it; {@link hold} refuses everything else.
   */
  async find(userId: string, sessionId: string): Promise<Live | null> {
    const found = await this.deps.sessions.findCaller(this.deps.db, userId, sessionId)
    try {
      return this.#admitWhilePending(found)
    } catch {
      return null
    }
  }

  /**
   * Checks again inside a transaction, and locks user and session so that the result holds until its end. A ban, a logout or a reuse either
   * comes first, and this refuses, or waits for the transaction. `whilePending` admits the owner of an account that is about to be deleted,
   * who may still show a second factor, keep the account or sign out.
   */
  async hold(
    tx: Tx,
    { userId, sessionId }: { userId: string; sessionId: string },
    { whilePending = false } = {},
  ): Promise<Held> {
    const { users, sessions } = this.deps
    const user = await users.lockById(tx, userId)
    const found = user && { user, session: await sessions.lock(tx, userId, sessionId) }
    return (whilePending ? this.#admitWhilePending(found) : this.admit(found)) as Held
  }
}

/** For changes to sign-in methods and addresses, which require the second factor if the account has one. */
export function requireStrong({ user, session }: Live): void {
  if (hasVerifiedFactor(user) && session.aal !== 'aal2') throw insufficientAal()
}

export const userNotFound = () =>
  authError('forbidden', 'user_not_found', 'User from sub claim in JWT does not exist')

export const sessionNotFound = () =>
  authError('forbidden', 'session_not_found', 'Session from session_id claim in JWT does not exist')
