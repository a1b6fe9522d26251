import { type Db, type Tx } from '@signet/db'
import { authError } from '../errors/auth-error.js'
import { sameHash, type TokenHashes } from '../one-time-tokens/one-time-token.js'
import { type OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { type PasswordRules } from '../passwords/password-rules.js'
import { type SessionStore } from '../sessions/session-store.js'
import { type Session } from '../sessions/session.js'
import { refusePassword } from '../users/new-password.js'
import { type User } from '../users/user.js'

export type PasswordChangeRules = {
  passwords: PasswordRules
  requireReauthentication: boolean
  reauthenticationGraceMs: number
  requireCurrentPassword: boolean
  mailNonceMs: number
  smsNonceMs: number
}

export type PasswordChange = {
  hash: string
  /** To be spent in the transaction that stores the hash; null when none is needed. */
  nonce: string | null
}

type Deps = {
  db: Db
  tokens: OneTimeTokenStore
  hashes: TokenHashes
  sessions: SessionStore
  hasher: PasswordHasher
  rules: PasswordChangeRules
  now: () => Date
}

/** Sessions opened by these prove control of an address, and stand in for a forgotten password. */
const PASSWORDLESS_METHODS = new Set(['recovery', 'otp', 'magiclink'])
const MAX_WRONG_NONCES = 10

/** The rules of a new password (contract 1.13 and 7), apart from storing it. */
export class PasswordChanges {
  constructor(private readonly deps: Deps) {}

  /** Everything that is slow or needs no lock. */
  async prepare(
    { user, session }: { user: User; session: Session | null },
    request: { password: string; nonce: string; currentPassword: string },
  ): Promise<PasswordChange> {
    const { hasher, rules } = this.deps
    const { password, nonce, currentPassword } = request
    refusePassword(rules.passwords, password)
    if (user.passwordHash !== null && (await hasher.verify(user.passwordHash, password)))
      throw authError(
        'unprocessable',
        'same_password',
        'New password should be different from the old password.',
      )
    const needsNonce = this.#needsNonce(session)
    if (needsNonce && nonce === '')
      throw authError('invalid', 'reauthentication_needed', 'Password update requires reauthentication')
    await this.#checkCurrentPassword(user, session, currentPassword)
    return { hash: await hasher.hash(password), nonce: needsNonce ? nonce : null }
  }

  /**
   * Whether the nonce is right. A wrong one is counted, so the transaction must be committed; a right one is not
   * spent here but goes with all other tokens when the password is stored (contract 7: never burned in vain).
   */
  async isRightNonce(tx: Tx, user: User, nonce: string): Promise<boolean> {
    const { tokens, hashes, rules, now } = this.deps
    const address = user.email ?? user.phone ?? ''
    const lifeMs = user.email === null ? rules.smsNonceMs : rules.mailNonceMs
    const [token] = await tokens.countAttempt(tx, user.id, address, ['reauthentication'])
    if (token === undefined) return false
    const right =
      sameHash(token.otpHash, hashes.ofOtp('reauthentication', address, nonce)) &&
      token.createdAt.getTime() + lifeMs > now().getTime()
    if (!right && token.attempts >= MAX_WRONG_NONCES) await tokens.remove(tx, token.id)
    return right
  }

  #needsNonce(session: Session | null): boolean {
    const { rules, now } = this.deps
    if (!rules.requireReauthentication) return false
    const ageMs = session === null ? Infinity : now().getTime() - session.createdAt.getTime()
    return ageMs >= rules.reauthenticationGraceMs
  }

  async #checkCurrentPassword(user: User, session: Session | null, currentPassword: string): Promise<void> {
    const { db, sessions, hasher, rules } = this.deps
    if (!rules.requireCurrentPassword || user.passwordHash === null) return
    const amr = session === null ? [] : await sessions.amrOf(db, session.id)
    if (amr.some(({ method }) => PASSWORDLESS_METHODS.has(method))) return
    if (currentPassword === '')
      throw authError(
        'invalid',
        'current_password_required',
        'Current password required when setting new password.',
      )
    if (!(await hasher.verify(user.passwordHash, currentPassword)))
      throw authError('invalid', 'current_password_invalid', 'Current password is incorrect.')
  }
}

export const badNonce = () =>
  authError('unprocessable', 'reauthentication_not_valid', 'Verification failed, please try again.')

/** An anonymous user who could sign in by password could not be told apart afterwards. */
export function refusePasswordAlone(
  user: User,
  change: { email: unknown; phone: unknown; password: unknown },
): void {
  if (!user.isAnonymous || change.password === null || change.email !== null || change.phone !== null) return
  throw authError(
    'unprocessable',
    'validation_failed',
    'Updating password of an anonymous user without an email or phone is not allowed',
  )
}
