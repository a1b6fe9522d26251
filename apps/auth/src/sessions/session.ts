import { type User } from '../users/user.js'

export type Aal = 'aal1' | 'aal2'

export type Session = {
  readonly id: string
  readonly userId: string
  readonly aal: Aal
  readonly factorId: string | null
  readonly refreshedAt: Date | null
  readonly notAfter: Date | null
  /** Set by logout (contract 4.4). */
  readonly revokedAt: Date | null
  readonly createdAt: Date
}

/** How somebody proved who they are, and when (claim `amr`, contract 3.1). */
export type AmrEntry = { readonly method: string; readonly at: Date }

/** A session with all that a token response is made of. */
export type SignedIn = {
  readonly user: User
  readonly session: Pick<Session, 'id' | 'aal' | 'createdAt'>
  /** Newest first. */
  readonly amr: readonly AmrEntry[]
  readonly refreshToken: string
}

/** Limits of contract 4.3, in milliseconds; undefined is off. */
export type SessionLimits = {
  readonly timeboxMs: number | undefined
  readonly inactivityMs: number | undefined
  readonly lowAalMs: number | undefined
  readonly singlePerUser: boolean
}

/** Whether a session is past its own end or one of the limits by time; the others need the database. */
export function isExpired(session: Session, limits: SessionLimits, now: Date): boolean {
  const olderThan = (since: Date, ms: number | undefined) =>
    ms !== undefined && since.getTime() + ms < now.getTime()
  return (
    (session.notAfter !== null && session.notAfter <= now) ||
    olderThan(session.createdAt, limits.timeboxMs) ||
    olderThan(session.refreshedAt ?? session.createdAt, limits.inactivityMs)
  )
}
