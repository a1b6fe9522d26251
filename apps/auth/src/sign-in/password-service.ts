import type { Db } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { normaliseEmail } from '../addresses/email.js'
import { normalisePhone } from '../addresses/phone.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import { BCRYPT_MAX_BYTES } from '../passwords/bcrypt.js'
import { checkPassword, type PasswordRules } from '../passwords/password-rules.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import type { UserStore } from '../users/user-store.js'
import { isBanned, type User } from '../users/user.js'
import type { Attempt, Guesses } from './guesses.js'

export type PasswordSignIn = { email?: string; phone?: string; password?: string }
export type WeakPassword = { reasons: string[]; message: string }

type Deps = {
  db: Db
  users: UserStore
  guesses: Guesses
  sessions: SessionService
  audit: AuditLog
  hasher: PasswordHasher
  rules: { emailEnabled: boolean; phoneEnabled: boolean; passwords: PasswordRules }
  now: () => Date
}

/** The second attempt covers a hash that was renewed, or a password that was changed, during the first. */
const MAX_ROUNDS = 3

/** The password grant (docs/specification.md#tokens). */
export class PasswordService {
  constructor(private readonly deps: Deps) {}

  async signIn(
    request: PasswordSignIn,
    meta: RequestMeta,
  ): Promise<{ signedIn: SignedIn; weakPassword: WeakPassword | null }> {
    const password = request.password ?? ''
    const address = this.#addressOf(request)
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const signedIn = await this.#attempt(address, password, meta)
      if (signedIn !== null) return { signedIn, weakPassword: this.#weaknessOf(password) }
    }
    throw invalidCredentials()
  }

  /** Null when the user changed during the check: was banned, deleted, or got another hash. */
  async #attempt(address: Address, password: string, meta: RequestMeta): Promise<SignedIn | null> {
    const attempt = await this.deps.guesses.begin(address, meta)
    const user = await this.#matching(attempt, password, address, meta)
    // Only someone who knows the password learns why it is not enough.
    const obstacle = this.#obstacleOf(user, address.kind)
    if (obstacle !== null) {
      await Promise.all([attempt.takeBack(), this.#recordFailure(user, address, obstacle.code, meta)])
      throw obstacle
    }
    const signedIn = await attempt.takeBackWith((countedIn) =>
      this.deps.sessions.signIn(user, { method: 'password', provider: address.kind, countedIn }, meta),
    )
    if (signedIn !== null) await this.#rehash(user, password)
    return signedIn
  }

  #weaknessOf(password: string): WeakPassword | null {
    const problem = checkPassword(this.deps.rules.passwords, password)
    return problem?.kind === 'weak' ? { reasons: problem.reasons, message: problem.message } : null
  }

  #addressOf({ email = '', phone = '' }: PasswordSignIn): Address {
    const { rules } = this.deps
    if (email !== '' && phone !== '')
      throw invalid('Only an email address or phone number should be provided on login')
    if (email !== '') {
      if (!rules.emailEnabled)
        throw authError('unprocessable', 'email_provider_disabled', 'Email logins are disabled')
      return { kind: 'email', value: normaliseEmail(email) }
    }
    if (phone === '') throw invalid('An email address or phone number is required')
    if (!rules.phoneEnabled)
      throw authError('unprocessable', 'phone_provider_disabled', 'Phone logins are disabled')
    return { kind: 'phone', value: normalisePhone(phone) }
  }

  /** Same answer and about the same time for an unknown user, a user without a password and a wrong password. */
  async #matching(attempt: Attempt, password: string, address: Address, meta: RequestMeta): Promise<User> {
    const { user, passwordHash: hash } = attempt
    const matches = await attempt.check(() => this.#compare(hash, password, meta))
    if (user === null || hash === null || !matches) {
      const reason = user === null ? 'unknown_account' : hash === null ? 'no_password' : 'wrong_password'
      await this.#recordFailure(user, address, reason, meta)
      throw invalidCredentials()
    }
    return user
  }

  async #compare(hash: string | null, password: string, { signal }: RequestMeta): Promise<boolean> {
    const { hasher } = this.deps
    if (hash !== null) return hasher.verify(hash, password, signal)
    await hasher.verifyDummy(password, signal)
    return false
  }

  async #rehash({ id, passwordHash: hash }: User, password: string): Promise<void> {
    const { db, users, hasher } = this.deps
    if (hash !== null && hasher.needsRehash(hash) && Buffer.byteLength(password) <= BCRYPT_MAX_BYTES)
      await users.rehash(db, id, hash, await hasher.hash(password))
  }

  #obstacleOf(user: User, kind: Address['kind']): AppError | null {
    if (isBanned(user, this.deps.now())) return userBanned('invalid')
    if (kind === 'email' && user.emailConfirmedAt === null)
      return authError('invalid', 'email_not_confirmed', 'Email not confirmed')
    if (kind === 'phone' && user.phoneConfirmedAt === null)
      return authError('invalid', 'phone_not_confirmed', 'Phone not confirmed')
    // The match came from a sign-up, which may not sign in yet.
    return user.passwordHash === null ? invalidCredentials() : null
  }

  /** The same work for every identifier. */
  async #recordFailure(
    user: User | null,
    address: Address,
    reason: string,
    meta: RequestMeta,
  ): Promise<void> {
    const actor = user ?? { claimed: address.value }
    await this.deps.audit.record(meta, 'login_failed', actor, { provider: address.kind, reason })
  }
}

const invalidCredentials = () => authError('invalid', 'invalid_credentials', 'Invalid login credentials')
