import type { Db, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { TOO_MANY, type FailedProofs } from '../failed-proofs/failed-proofs.js'
import type { CodeAttempts } from '../one-time-tokens/code-attempts.js'
import type { TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { authorized } from '../hash-callers/known-callers.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { PasswordRules } from '../passwords/password-rules.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionStore } from '../sessions/session-store.js'
import type { Live, Session } from '../sessions/session.js'
import type { Attempt, Guesses } from '../sign-in/guesses.js'
import { refusePassword } from '../users/new-password.js'
import { isProven, type User } from '../users/user.js'
import { isRecent } from './recent-proofs.js'

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
  /** Consumed in the transaction that stores the hash; null when none is needed. */
  nonce: string | null
  /**
   * Comparing a new password with the current one reveals whether it is the current one. So it counts as a guess, which is taken back
   * when the new hash is stored, because the owner notices that. Null where there was no password.
   */
  guess: Pick<Attempt, 'takeBack'> | null
}

type Compared = { password: string; currentPassword: string; needsPassword: boolean }

type Deps = {
  db: Db
  tokens: OneTimeTokenStore
  attempts: CodeAttempts
  hashes: TokenHashes
  sessions: SessionStore
  guesses: Guesses
  failed: FailedProofs
  audit: AuditLog
  hasher: PasswordHasher
  rules: PasswordChangeRules
  now: () => Date
}

/** What the owner has to prove again before the password changes. */
export type PasswordProof = 'current_password' | 'nonce' | null

/** A session opened by one of these methods proves control of an address, and stands in for a forgotten password. */
const PASSWORDLESS_METHODS = new Set(['recovery', 'otp', 'magiclink'])

/** Decides whether a password may be changed; the caller stores it. */
export class PasswordChanges {
  constructor(private readonly deps: Deps) {}

  /**
   * The proof that the pages ask for even if the settings ask for none (docs/specification.md#recent-proofs). Otherwise, a stranger who
   * finds the browser open could set a password and use it as the proof for everything else.
   */
  async proofOf({ user, session }: Live): Promise<PasswordProof> {
    const { db, sessions, now } = this.deps
    const amr = await sessions.amrOf(db, session.id)
    if (isRecent(amr, now())) return null
    const forgotten = amr.some(({ method }) => PASSWORDLESS_METHODS.has(method))
    if (user.passwordHash !== null && !forgotten) return 'current_password'
    return isProven(user) ? 'nonce' : null
  }

  /** Does everything that is slow or needs no lock. `proof` is what the change needs beyond what the settings ask for. */
  async prepare(
    live: Live,
    request: { password: string; nonce: string; currentPassword: string },
    proof: PasswordProof,
    meta: RequestMeta,
  ): Promise<PasswordChange> {
    const { audit, hasher, rules } = this.deps
    const { user, session } = live
    const { password, nonce } = request
    refusePassword(rules.passwords, password)
    // A code proves at least as much as the password that it can replace.
    const needsNonce = this.#needsNonce(session) || proof === 'nonce' || (proof !== null && nonce !== '')
    const needsPassword = proof === 'current_password' && !needsNonce
    if (needsNonce && nonce === '')
      throw authError('invalid', 'reauthentication_needed', 'Password update requires reauthentication')
    // Checked before the comparison, so that a wrong nonce is not a way to test passwords without changing one.
    const isRight = () => audit.transaction(meta, (tx, record) => this.isRightNonce(tx, record, user, nonce))
    if (needsNonce && !(await isRight())) throw badNonce()
    const guess =
      user.passwordHash === null
        ? null
        : await this.#compare(live, user.passwordHash, { ...request, needsPassword }, meta)
    const hashed = await hasher.hash(password, authorized(live, meta))
    return { hash: hashed, nonce: needsNonce ? nonce : null, guess }
  }

  /** Every answer reveals whether a password is the current one, so each comparison counts as a guess. */
  async #compare(
    live: Live,
    hash: string,
    { password, currentPassword, needsPassword }: Compared,
    meta: RequestMeta,
  ): Promise<Pick<Attempt, 'takeBack'>> {
    const { guesses, hasher, audit } = this.deps
    const { user, session } = live
    const mustKnow = needsPassword || (await this.#settingsAskForPassword(session))
    if (mustKnow && currentPassword === '')
      throw authError(
        'invalid',
        'current_password_required',
        'Current password required when setting new password.',
      )
    const address: Address =
      user.email === null ? { kind: 'phone', value: user.phone ?? '' } : { kind: 'email', value: user.email }
    const attempt = await guesses.begin(address, meta)
    // Makes only one comparison for each counted guess. If the current password is required, a new one is never compared with the stored
    // hash.
    const isCurrent = await attempt.check(() =>
      hasher.verify(hash, mustKnow ? currentPassword : password, authorized(live, meta)),
    )
    if (mustKnow && !isCurrent) {
      await audit.record(meta, 'login_failed', user, { provider: address.kind, reason: 'wrong_password' })
      throw authError('invalid', 'current_password_invalid', 'Current password is incorrect.')
    }
    if (mustKnow ? password === currentPassword : isCurrent)
      throw authError(
        'unprocessable',
        'same_password',
        'New password should be different from the old password.',
      )
    return attempt
  }

  /**
   * Whether the nonce is right. A wrong one is counted and recorded, so the transaction must be committed. A right one is not
   * consumed here: storing the password deletes it with all other tokens (docs/specification.md#passwords), so a
   * failed change does not waste it.
   */
  async isRightNonce(tx: Tx, audit: Audit, user: User, nonce: string): Promise<boolean> {
    const { attempts, failed } = this.deps
    const mayTry = await attempts.mayTryNonce(tx, { userId: user.id })
    if (mayTry && (await this.#isNonceOf(tx, user, nonce))) {
      await attempts.forget(tx, { userId: user.id })
      return true
    }
    const provider = user.email === null ? 'phone' : 'email'
    if (mayTry || (await failed.isFirstRefusal(tx, 'nonce', user.id)))
      audit('login_failed', user, { provider, reason: mayTry ? 'wrong_code' : TOO_MANY })
    return false
  }

  async #isNonceOf(tx: Tx, user: User, nonce: string): Promise<boolean> {
    const { tokens, hashes, rules, now } = this.deps
    const address = user.email ?? user.phone ?? ''
    const lifeMs = user.email === null ? rules.smsNonceMs : rules.mailNonceMs
    const hash = hashes.ofOtp('reauthentication', address, nonce)
    const token = await tokens.findInSlot(tx, user.id, 'reauthentication', hash)
    return token !== null && token.createdAt.getTime() + lifeMs > now().getTime()
  }

  #needsNonce(session: Session): boolean {
    const { rules, now } = this.deps
    if (!rules.requireReauthentication) return false
    return now().getTime() - session.createdAt.getTime() >= rules.reauthenticationGraceMs
  }

  async #settingsAskForPassword(session: Session): Promise<boolean> {
    const { db, sessions, rules } = this.deps
    if (!rules.requireCurrentPassword) return false
    const amr = await sessions.amrOf(db, session.id)
    return !amr.some(({ method }) => PASSWORDLESS_METHODS.has(method))
  }
}

export const badNonce = () =>
  authError('unprocessable', 'reauthentication_not_valid', 'Verification failed, please try again.')

/** Until an address is proven, no account with it may have a password. */
export function refusePasswordOfUnproven(user: User): void {
  if (isProven(user) || (user.email === null && user.phone === null)) return
  throw user.email === null
    ? authError('unprocessable', 'phone_not_confirmed', 'Please verify your phone first.')
    : authError('unprocessable', 'email_not_confirmed', 'Please verify your email first.')
}

/** An anonymous user with a password could no longer be distinguished from a regular user. */
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
