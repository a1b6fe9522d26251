import type { MailMethod } from '../flows/flow-store.js'
import type { User } from '../users/user.js'

export type Aal = 'aal1' | 'aal2'

/** Why a session ended; the database has the same list. */
export type EndReason =
  | 'logout'
  /** Someone presented an old refresh token, so someone else has the tokens, too. */
  | 'reuse'
  /** A newer sign-in replaced it, because AUTH_SESSIONS_SINGLE_PER_USER allows only one session. */
  | 'single_session'
  /** The user signed in again and had very many open sessions; this one was used longest ago. */
  | 'too_many'
  | 'ban'
  | 'deletion'
  /** The owner requested the deletion of the account. */
  | 'deletion_requested'
  | 'password_changed'
  | 'password_recovered'
  /** Another session used a second factor that this one did not. */
  | 'factor_verified'
  /** The owner of the address proved it and took over the account of an earlier sign-up. */
  | 'address_proved'
  /** An administrator set a new password, or ended the sessions. */
  | 'admin'
  /** The passkey that opened it was removed. */
  | 'passkey_removed'
  /** The provider account that opened it was removed. */
  | 'identity_removed'

export type Session = {
  readonly id: string
  readonly userId: string
  /** Shared by a session of the pages and those opened from it (one person in one browser); elsewhere, each session has its own. */
  readonly signInId: string
  /** Whether the pages opened it for an application. */
  readonly handedOver: boolean
  readonly aal: Aal
  readonly factorId: string | null
  /** The passkey that opened it, if one did. */
  readonly passkeyId: string | null
  readonly refreshedAt: Date | null
  readonly notAfter: Date | null
  readonly revokedAt: Date | null
  readonly revokedReason: EndReason | null
  readonly createdAt: Date
}

declare const live: unique symbol
declare const held: unique symbol
declare const stored: unique symbol

/** A session that the gate has let pass, with its user. Only {@link SessionGate} makes one. */
export type Live = { readonly user: User; readonly session: Session & { readonly [live]: true } }

/** A session locked until the transaction ends; required to issue or upgrade anything. */
export type Held = Live & { readonly [held]: true }

/** How people sign in. Emailed links with PKCE have methods of their own (docs/specification.md#methods-in-amr). */
export const signInMethods = ['password', 'otp', 'oauth', 'anonymous', 'passkey'] as const
export type SignInMethod = (typeof signInMethods)[number] | MailMethod

/** How a person proved who they are, and when (claim `amr`). `isNew`: with a factor that was added just then. */
export type AmrEntry = { readonly method: string; readonly at: Date; readonly isNew: boolean }

/**
 * An open session with its user, both as the statement that opened, refreshed or read it found them. What was read before a password was
 * compared may be out of date. Only `toStoredSession` makes one, from a row.
 */
export type StoredSession = {
  readonly user: User
  readonly session: Pick<Session, 'id' | 'aal' | 'createdAt'>
  /** Newest first. */
  readonly amr: readonly AmrEntry[]
  /** The current refresh token is the session's `counter`-th, made with `salt`. */
  readonly counter: number
  readonly salt: Buffer
  readonly [stored]: true
}

/** A session with everything that a token response needs. Only `signedIn` makes one, from a stored session. */
export type SignedIn = Omit<StoredSession, 'counter' | 'salt'> & { readonly refreshToken: string }

/** The limits of AUTH_SESSIONS_*, in milliseconds; undefined is off. */
export type SessionLimits = {
  readonly timeboxMs: number | undefined
  readonly inactivityMs: number | undefined
  readonly lowAalMs: number | undefined
  readonly singlePerUser: boolean
}

/** The earliest times that the session limits still allow; null for no limit. */
export type LimitTimes = {
  createdAfter: Date | null
  activeAfter: Date | null
  lowAalCreatedAfter: Date | null
}

export function limitTimesAt(now: Date, limits: SessionLimits): LimitTimes {
  const before = (ms: number | undefined) => (ms === undefined ? null : new Date(now.getTime() - ms))
  return {
    createdAfter: before(limits.timeboxMs),
    activeAfter: before(limits.inactivityMs),
    lowAalCreatedAfter: before(limits.lowAalMs),
  }
}

/** The most open sessions of one user. If there are more, some are ended (decision 0256). */
export const MAX_OPEN_SESSIONS = 1000

/** Whether a session is past its own end or one of the time limits. The other limits need the database. */
export function isExpired(session: Session, limits: SessionLimits, now: Date): boolean {
  const olderThan = (since: Date, ms = Infinity) => since.getTime() + ms < now.getTime()
  return (
    (session.notAfter !== null && session.notAfter <= now) ||
    olderThan(session.createdAt, limits.timeboxMs) ||
    olderThan(session.refreshedAt ?? session.createdAt, limits.inactivityMs)
  )
}
