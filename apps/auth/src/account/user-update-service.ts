import { isUniqueViolation, type Db, type Tx } from '@signet/db'
import { normaliseEmail } from '../addresses/email.js'
import { normalisePhone } from '../addresses/phone.js'
import { type Audit, type AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { challengeOf, type Challenge } from '../flows/pkce.js'
import { tellPhoneChanged } from '../mail/address-notices.js'
import { type Mailer } from '../mail/mailer.js'
import { type OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type SessionStore } from '../sessions/session-store.js'
import { type Session } from '../sessions/session.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import { type SmsChannel } from '../sms/sms-sender.js'
import { type UserStore } from '../users/user-store.js'
import { hasVerifiedFactor, mergeMetadata, type JsonObject, type User } from '../users/user.js'
import { refuseLargeMetadata } from '../users/metadata-limit.js'
import { type AddressChanges, type PendingMessages } from './address-changes.js'
import {
  badNonce,
  refusePasswordAlone,
  type PasswordChange,
  type PasswordChanges,
} from './password-change.js'

export type UserUpdateRequest = {
  email?: string
  phone?: string
  password?: string
  data?: JsonObject
  app_metadata?: JsonObject
  nonce?: string
  channel?: string
  current_password?: string
  code_challenge?: string
  code_challenge_method?: string
}

type Caller = { user: User; session: Session | null; isAdmin: boolean; aud: string; redirectTo: string }

/** What is to change; null where a request says nothing, or nothing new. */
type Change = {
  email: string | null
  phone: string | null
  password: PasswordChange | null
  data: JsonObject | null
  appMetadata: JsonObject | null
  challenge: Challenge | null
  channel: SmsChannel
}

type Deps = {
  db: Db
  users: UserStore
  sessions: SessionStore
  tokens: OneTimeTokenStore
  passwords: PasswordChanges
  addresses: AddressChanges
  audit: AuditLog
  mailer: Mailer
  rules: { smsProvider: string | undefined }
  now: () => Date
}

/** PUT /user (contract 1.13). */
export class UserUpdateService {
  constructor(private readonly deps: Deps) {}

  async update(caller: Caller, request: UserUpdateRequest, meta: RequestMeta): Promise<User> {
    const { audit, addresses } = this.deps
    const change = await this.#check(caller, request)
    const outcome = await audit.transaction(meta, (tx, record) => this.#apply(tx, record, caller, change))
    if (outcome === 'bad_nonce') throw badNonce()
    const { user, pending } = outcome
    const how = { redirectTo: caller.redirectTo, channel: change.channel }
    await addresses.send(user, pending, how, meta)
    await this.#tell(caller.user, user, change, meta)
    return user
  }

  /** Notices about what has changed already; an address that waits for its code is told of when it is confirmed. */
  async #tell(before: User, user: User, change: Change, meta: RequestMeta): Promise<void> {
    const { mailer } = this.deps
    const { email, userMetadata: data } = user
    if (change.password !== null)
      await mailer.notify('password_changed_notification', email ?? '', { email: email ?? '', data }, meta)
    await tellPhoneChanged(mailer, before, user, meta)
  }

  /** The refusals of contract 1.13, in its order. */
  async #check(caller: Caller, request: UserUpdateRequest): Promise<Change> {
    const { user, session } = caller
    const given = (text: string | undefined) => (text === undefined || text === '' ? null : text)
    const email = changed(given(request.email), normaliseEmail, user.email)
    const phone = changed(given(request.phone), normalisePhone, user.phone)
    const password = request.password ?? null
    const channel = smsChannelOf(request.channel, this.deps.rules.smsProvider)
    const challenge = challengeOf(request)
    if (request.app_metadata !== undefined && !caller.isAdmin)
      throw authError('forbidden', 'not_admin', 'Updating app_metadata requires admin privileges')
    const touchesCredentials = email !== null || phone !== null || password !== null
    if (touchesCredentials && hasVerifiedFactor(user) && session?.aal !== 'aal2')
      throw authError(
        'unauthenticated',
        'insufficient_aal',
        'AAL2 session is required to update email or password when MFA is enabled.',
      )
    refusePasswordAlone(user, { email, phone, password })
    if (touchesCredentials && user.isSsoUser)
      throw authError(
        'unprocessable',
        'user_sso_managed',
        'Updating email, phone, password of a SSO account only possible via SSO',
      )
    await this.#refuseTaken(caller, email, phone)
    return {
      email,
      phone,
      password:
        password === null
          ? null
          : await this.deps.passwords.prepare(caller, {
              password,
              nonce: request.nonce ?? '',
              currentPassword: request.current_password ?? '',
            }),
      data: request.data ?? null,
      appMetadata: request.app_metadata ?? null,
      challenge,
      channel,
    }
  }

  async #refuseTaken({ aud }: Caller, email: string | null, phone: string | null): Promise<void> {
    const { db, users } = this.deps
    if (email !== null && (await users.findByEmail(db, email, aud)) !== null) throw emailTaken()
    if (phone !== null && (await users.findByPhone(db, phone, aud)) !== null) throw phoneTaken()
  }

  async #apply(
    tx: Tx,
    audit: Audit,
    caller: Caller,
    change: Change,
  ): Promise<{ user: User; pending: PendingMessages } | 'bad_nonce'> {
    const { users, passwords, addresses, now } = this.deps
    const user = await users.lockById(tx, caller.user.id)
    if (user === null)
      throw authError('forbidden', 'user_not_found', 'User from sub claim in JWT does not exist')
    const { password } = change
    if (password?.nonce != null && !(await passwords.isRightNonce(tx, user, password.nonce)))
      return 'bad_nonce'
    if (password !== null) await this.#storePassword(tx, audit, user, caller.session, password)
    if (change.data !== null || change.appMetadata !== null) {
      const metadata = {
        userMetadata: mergeMetadata(user.userMetadata, change.data ?? {}),
        appMetadata: mergeMetadata(user.appMetadata, change.appMetadata ?? {}),
      }
      refuseLargeMetadata(metadata, user)
      await users.update(tx, user.id, metadata, now())
    }
    const pending = await addresses.begin(tx, user.id, change).catch((error: unknown) => {
      if (isUniqueViolation(error)) throw change.email === null ? phoneTaken() : emailTaken()
      throw error
    })
    audit('user_modified', user)
    return { user: (await users.findById(tx, user.id)) ?? user, pending }
  }

  /** Whoever knew the old password, or holds a link that went to a mailbox meanwhile lost, is out. */
  async #storePassword(
    tx: Tx,
    audit: Audit,
    user: User,
    session: Session | null,
    { hash }: PasswordChange,
  ): Promise<void> {
    const { users, tokens, sessions, now } = this.deps
    await users.update(tx, user.id, { passwordHash: hash }, now())
    await tokens.removeAll(tx, user.id)
    await sessions.removeAll(tx, user.id, session?.id ?? null)
    audit('user_updated_password', user)
  }
}

/** The new value in normal form, or null when there is none or it is the current one. */
function changed(
  raw: string | null,
  normalise: (raw: string) => string,
  current: string | null,
): string | null {
  const value = raw === null ? null : normalise(raw)
  return value === current ? null : value
}

const emailTaken = () =>
  authError('unprocessable', 'email_exists', 'A user with this email address has already been registered')
const phoneTaken = () =>
  authError('unprocessable', 'phone_exists', 'A user with this phone number has already been registered')
