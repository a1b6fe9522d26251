import { randomUUID, type KeyObject } from 'node:crypto'
import type { Address } from '../addresses/address.js'
import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import { stranger } from '../hash-callers/known-callers.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { PasswordRules } from '../passwords/password-rules.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import { refusePassword } from '../users/new-password.js'
import { withoutClaims } from '../users/identity-claims.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type JsonObject, type User } from '../users/user.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { RegistrationService } from './registration.js'
import { madeUpIds, signUpAnswer, type SignUpIds } from './sign-up-answer.js'
import { smsChannelOf } from './sms-channel.js'

export type SignUpRequest = {
  email?: string
  phone?: string
  password?: string
  data?: JsonObject
  channel?: string
  code_challenge?: string
  code_challenge_method?: string
}

export type SignUpRules = {
  disabled: boolean
  emailEnabled: boolean
  phoneEnabled: boolean
  anonymousEnabled: boolean
  /** If an address counts as proven, a sign-up reveals that it has an account: there is no email that could say so instead. */
  autoconfirm: { email: boolean; phone: boolean }
  role: string
  smsProvider: string | undefined
  passwords: PasswordRules
}

export type SignUpResult = { kind: 'pending'; user: User } | { kind: 'signed_in'; signedIn: SignedIn }

type Deps = {
  registration: RegistrationService
  sessions: SessionService
  users: UserStore
  audit: AuditLog
  hasher: PasswordHasher
  rules: SignUpRules
  /** Key for the made-up ids of existing accounts. */
  idKey: KeyObject
  now: () => Date
}

/** POST /signup. */
export class SignUpService {
  constructor(private readonly deps: Deps) {}

  async signUp(
    request: SignUpRequest,
    { aud, redirectTo, signUpId }: { aud: string; redirectTo: string; signUpId?: string },
    meta: RequestMeta,
  ): Promise<SignUpResult> {
    const { registration, sessions, hasher, rules, idKey, now } = this.deps
    const checked = this.#check(request)
    const data = withoutClaims(request.data ?? {})
    // Refuses data that is too large, counted as the account with this address would store it.
    StorableMetadata.ofNew(checked.address.kind, data)
    const subject = { address: checked.address, aud, role: rules.role, data }
    const pending = (ids: SignUpIds): SignUpResult => ({
      kind: 'pending',
      user: signUpAnswer(ids, subject, now()),
    })
    const result = await registration.register(
      {
        ...checked,
        aud,
        data,
        redirectTo,
        signUpId,
        passwordHash: await hasher.hash(checked.password, stranger(meta)),
      },
      meta,
      (tx, user) => sessions.open(tx, user, 'password', meta),
    )
    switch (result.kind) {
      case 'confirmed':
        return { kind: 'signed_in', signedIn: result.value }
      case 'pending':
        return pending(ownIds(result.user) ?? madeUpIds(idKey, checked.address))
      case 'known':
        if (rules.autoconfirm[checked.address.kind])
          throw authError('invalid', 'user_already_exists', 'User already registered')
        return pending(madeUpIds(idKey, checked.address))
    }
  }

  /** Signs in a new user without an address. */
  async signUpAnonymously(given: JsonObject, aud: string, meta: RequestMeta): Promise<SignedIn> {
    const data = withoutClaims(given)
    const { users, sessions, audit, rules, now } = this.deps
    if (rules.disabled) throw signUpDisabled()
    if (!rules.anonymousEnabled)
      throw authError('unprocessable', 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled')
    const metadata = StorableMetadata.limited({ userMetadata: data, appMetadata: {} })
    return audit.transaction(meta, async (tx, record) => {
      const id = randomUUID()
      await users.insert(
        tx,
        {
          id,
          aud,
          role: rules.role,
          email: null,
          phone: null,
          passwordHash: null,
          metadata,
          isAnonymous: true,
        },
        now(),
      )
      const user = await users.findById(tx, id)
      if (user === null) throw new Error('a user that was just inserted is gone')
      record('user_signedup', user, { provider: 'anonymous' })
      return sessions.open(tx, user, 'anonymous', meta)
    })
  }

  /** The checks run in the order of docs/specification.md#sign-up. */
  #check(request: SignUpRequest) {
    const { rules } = this.deps
    if (rules.disabled) throw signUpDisabled()
    const password = request.password ?? ''
    if (password === '') throw invalid('Signup requires a valid password')
    refusePassword(rules.passwords, password)
    const email = request.email ?? ''
    const phone = request.phone ?? ''
    if (email !== '' && phone !== '')
      throw invalid('Only an email address or phone number should be provided on signup')
    const channel = smsChannelOf(request.channel, rules.smsProvider)
    const challenge = challengeOf(request)
    if (phone !== '' && challenge) throw invalid('PKCE needs an email address')
    const address: Address = email !== '' ? { kind: 'email', value: email } : { kind: 'phone', value: phone }
    refuseDisabled(address, rules)
    const value = address.kind === 'email' ? normalizeEmail(email) : normalizePhone(phone)
    return { password, channel, challenge, address: { kind: address.kind, value } }
  }
}

function refuseDisabled({ kind }: Address, rules: SignUpRules): void {
  if (kind === 'email' && !rules.emailEnabled)
    throw authError('invalid', 'email_provider_disabled', 'Email signups are disabled')
  if (kind === 'phone' && !rules.phoneEnabled)
    throw authError('invalid', 'phone_provider_disabled', 'Phone signups are disabled')
}

const signUpDisabled = () =>
  authError('unprocessable', 'signup_disabled', 'Signups not allowed for this instance')

/**
 * The account's real ids, if only sign-ups have made it. Otherwise null, because a stranger must not see them: someone has proved
 * another address of the account, or came through a provider that does not verify this one.
 */
function ownIds(user: User): SignUpIds | null {
  const identity = user.identities.find(({ providerId }) => providerId === user.id)
  return identity === undefined || isProven(user) ? null : { userId: user.id, identityId: identity.id }
}
