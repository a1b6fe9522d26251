import { type Db } from '@signet/db'
import { normaliseEmail } from '../addresses/email.js'
import { normalisePhone } from '../addresses/phone.js'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { BCRYPT_MAX_BYTES } from '../passwords/bcrypt.js'
import { checkPassword, type PasswordRules } from '../passwords/password-rules.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type SessionService } from '../sessions/session-service.js'
import { type SignedIn } from '../sessions/session.js'
import { type UserStore } from '../users/user-store.js'
import { isBanned, type User } from '../users/user.js'

export type PasswordSignIn = { email?: string; phone?: string; password?: string }
export type WeakPassword = { reasons: string[]; message: string }

type Deps = {
  db: Db
  users: UserStore
  sessions: SessionService
  hasher: PasswordHasher
  rules: { emailEnabled: boolean; phoneEnabled: boolean; passwords: PasswordRules }
  now: () => Date
}

/** The password grant (contract 1.6). */
export class PasswordService {
  constructor(private readonly deps: Deps) {}

  async signIn(
    request: PasswordSignIn,
    aud: string,
    meta: RequestMeta,
  ): Promise<{ signedIn: SignedIn; weakPassword: WeakPassword | null }> {
    const { sessions, rules } = this.deps
    const password = request.password ?? ''
    const { user: candidate, provider } = await this.#findUser(request, aud)
    const user = await this.#matching(candidate, password)
    // Only somebody who knows the password learns more than that it is wrong.
    if (isBanned(user, this.deps.now())) throw userBanned('invalid')
    if (provider === 'email' && user.emailConfirmedAt === null)
      throw authError('invalid', 'email_not_confirmed', 'Email not confirmed')
    if (provider === 'phone' && user.phoneConfirmedAt === null)
      throw authError('invalid', 'phone_not_confirmed', 'Phone not confirmed')
    const signedIn = await sessions.signIn(user, 'password', meta, provider)
    const problem = checkPassword(rules.passwords, password)
    const weakPassword =
      problem?.kind === 'weak' ? { reasons: problem.reasons, message: problem.message } : null
    return { signedIn, weakPassword }
  }

  async #findUser(
    { email = '', phone = '' }: PasswordSignIn,
    aud: string,
  ): Promise<{ user: User | null; provider: 'email' | 'phone' }> {
    const { db, users, rules } = this.deps
    if (email !== '' && phone !== '')
      throw invalid('Only an email address or phone number should be provided on login')
    if (email !== '') {
      if (!rules.emailEnabled)
        throw authError('unprocessable', 'email_provider_disabled', 'Email logins are disabled')
      return { user: await users.findByEmail(db, normaliseEmail(email), aud), provider: 'email' }
    }
    if (phone === '') throw invalid('An email address or phone number is required')
    if (!rules.phoneEnabled)
      throw authError('unprocessable', 'phone_provider_disabled', 'Phone logins are disabled')
    return { user: await users.findByPhone(db, normalisePhone(phone), aud), provider: 'phone' }
  }

  /** One answer, at about one price, for an unknown user, one without password and a wrong password. */
  async #matching(user: User | null, password: string): Promise<User> {
    const { db, users, hasher } = this.deps
    const hash = user?.passwordHash ?? null
    if (user === null || hash === null) {
      await hasher.verifyDummy(password)
      throw invalidCredentials()
    }
    if (!(await hasher.verify(hash, password))) throw invalidCredentials()
    if (hasher.needsRehash(hash) && Buffer.byteLength(password) <= BCRYPT_MAX_BYTES)
      await users.rehash(db, user.id, hash, await hasher.hash(password))
    return user
  }
}

const invalidCredentials = () => authError('invalid', 'invalid_credentials', 'Invalid login credentials')
