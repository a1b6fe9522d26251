import type { Db } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import { authorized } from '../hash-callers/known-callers.js'
import { isOverCapacity } from '../passwords/over-capacity.js'
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

/** What a password matches: the account, or an unconfirmed sign-up with its address. */
type Matched = 'the_password' | 'a_sign_up' | 'nothing'
/** In the order in which the hashes are compared. */
const MATCHES: readonly Matched[] = ['the_password', 'a_sign_up']

/** Another round is needed if the hash was renewed or the password was changed during the one before. */
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

  /** Null if the user changed during the check: was banned or deleted, or got another hash. */
  async #attempt(address: Address, password: string, meta: RequestMeta): Promise<SignedIn | null> {
    const attempt = await this.deps.guesses.begin(address, meta)
    const matched = await attempt.check(() => this.#compare(attempt, password))
    const { user } = attempt
    if (matched === 'a_sign_up') {
      // Anyone may sign up with a guess, and this answer tells them that it is not the password. So the guess stays counted.
      const refusal = notConfirmed(address.kind)
      await this.#recordFailure(user, address, refusal.code, meta)
      throw refusal
    }
    if (user === null || matched === 'nothing') {
      await this.#recordFailure(user, address, reasonOf(attempt), meta)
      throw invalidCredentials()
    }
    // Only someone who knows the password is told why it is not enough.
    const obstacle = this.#obstacleOf(user, address.kind)
    if (obstacle !== null) {
      await Promise.all([attempt.takeBack(), this.#recordFailure(user, address, obstacle.code, meta)])
      throw obstacle
    }
    const signedIn = await attempt.takeBackWith((countedIn) =>
      this.deps.sessions.signIn(user, { method: 'password', provider: address.kind, countedIn }, meta),
    )
    if (signedIn === null) return null
    await this.#rehash(user, password, signedIn, meta)
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
      return { kind: 'email', value: normalizeEmail(email) }
    }
    if (phone === '') throw invalid('An email address or phone number is required')
    if (!rules.phoneEnabled)
      throw authError('unprocessable', 'phone_provider_disabled', 'Phone logins are disabled')
    return { kind: 'phone', value: normalizePhone(phone) }
  }

  /**
   * A wrong password always costs two hashes. Otherwise, the time would tell a stranger whether the address has an account, and whether
   * someone signed up with it. Only the right password costs less.
   */
  async #compare({ user, pendingHash, caller }: Attempt, password: string): Promise<Matched> {
    const hashes = [user?.passwordHash ?? null, pendingHash]
    return MATCHES[await this.deps.hasher.firstMatch(hashes, password, caller)] ?? 'nothing'
  }

  /** Renews the hash, even if the client has left. If the queue is full, the sign-in still succeeds, and the next one tries again. */
  async #rehash(
    { id, passwordHash: hash }: User,
    password: string,
    signedIn: SignedIn,
    { client }: RequestMeta,
  ): Promise<void> {
    const { db, users, hasher } = this.deps
    if (hash === null || !hasher.needsRehash(hash) || Buffer.byteLength(password) > BCRYPT_MAX_BYTES) return
    try {
      await users.rehash(db, id, hash, await hasher.hash(password, authorized(signedIn, { client })))
    } catch (error) {
      if (!isOverCapacity(error)) throw error
    }
  }

  #obstacleOf(user: User, kind: Address['kind']): AppError | null {
    if (isBanned(user, this.deps.now())) return userBanned('invalid')
    const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
    return confirmedAt === null ? notConfirmed(kind) : null
  }

  /** Does the same work for every address. */
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

const notConfirmed = (kind: Address['kind']): AppError =>
  kind === 'email'
    ? authError('invalid', 'email_not_confirmed', 'Email not confirmed')
    : authError('invalid', 'phone_not_confirmed', 'Phone not confirmed')

function reasonOf({ user, pendingHash }: Attempt): string {
  if (user === null) return 'unknown_account'
  return user.passwordHash === null && pendingHash === null ? 'no_password' : 'wrong_password'
}

const invalidCredentials = () => authError('invalid', 'invalid_credentials', 'Invalid login credentials')
