import { type Db, type Tx } from '@signet/db'
import { normaliseEmail } from '../addresses/email.js'
import { type Audit, type AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { type Slot } from '../one-time-tokens/one-time-token.js'
import { type Issued } from '../one-time-tokens/one-time-tokens.js'
import { type LinkKind, type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { randomPassword, type PasswordRules } from '../passwords/password-rules.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type UserFactory } from '../sign-up/user-factory.js'
import { refusePassword } from '../users/new-password.js'
import { type UserStore } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'
import { refuseLargeMetadata } from '../users/metadata-limit.js'
import { traitsOf, userNotFound, type Admin } from './admin-user-service.js'

const TYPES = [
  'signup',
  'magiclink',
  'recovery',
  'invite',
  'email_change_current',
  'email_change_new',
] as const
export type GeneratedType = (typeof TYPES)[number]

export type LinkRequest = {
  type?: string
  email?: string
  new_email?: string
  password?: string
  data?: JsonObject
}

export type GeneratedLink = {
  user: User
  actionLink: string
  otp: string
  hashedToken: string
  verificationType: GeneratedType
}

type Deps = {
  db: Db
  users: UserStore
  factory: UserFactory
  issuer: TokenIssuer
  messages: SecretMessages
  audit: AuditLog
  hasher: PasswordHasher
  rules: { passwords: PasswordRules; secureEmailChange: boolean }
  now: () => Date
}

const PLANS: Readonly<Record<GeneratedType, { slot: Slot; kind: LinkKind }>> = {
  signup: { slot: 'confirmation', kind: 'confirmation' },
  invite: { slot: 'confirmation', kind: 'invite' },
  magiclink: { slot: 'recovery', kind: 'magic_link' },
  recovery: { slot: 'recovery', kind: 'recovery' },
  email_change_current: { slot: 'email_change_current', kind: 'email_change' },
  email_change_new: { slot: 'email_change_new', kind: 'email_change' },
}

/** POST /admin/generate_link (contract 1.22): the link of a mail, without the mail. */
export class LinkService {
  constructor(private readonly deps: Deps) {}

  async generate(
    admin: Admin,
    request: LinkRequest,
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<GeneratedLink> {
    const { db, users, audit, messages, rules } = this.deps
    const requested = TYPES.find((name) => name === request.type)
    if (requested === undefined) throw invalid(`Unsupported type, use one of ${TYPES.join(', ')}`)
    if (requested === 'email_change_current' && !rules.secureEmailChange)
      throw invalid('Enable secure email change to generate link for current email')
    const email = normaliseEmail(request.email ?? '')
    refuseLargeMetadata({ userMetadata: request.data ?? {} })
    const known = await users.findByEmail(db, email, admin.aud)
    const type = requested === 'magiclink' && known === null ? 'signup' : requested
    const newEmail = await this.#newEmail(type, request, admin)
    const passwordHash = known === null ? await this.#passwordHash(type, requested, request) : null
    const { user, issued } = await audit.transaction(meta, async (tx, record) => {
      const target = await this.#target(tx, record, admin, {
        type,
        email,
        passwordHash,
        data: request.data ?? {},
      })
      return this.#issue(tx, target, type, newEmail)
    })
    return {
      user,
      actionLink: messages.linkOf(PLANS[type].kind, issued, redirectTo),
      otp: issued.secrets.otp,
      hashedToken: issued.secrets.linkToken,
      verificationType: type,
    }
  }

  async #newEmail(type: GeneratedType, request: LinkRequest, { aud }: Admin): Promise<string | null> {
    if (type !== 'email_change_current' && type !== 'email_change_new') return null
    const newEmail = normaliseEmail(request.new_email ?? '')
    const { db, users } = this.deps
    if ((await users.findByEmail(db, newEmail, aud)) !== null) throw emailExists()
    return newEmail
  }

  /** Only for a user who does not exist yet; an invited one chooses later. */
  async #passwordHash(type: GeneratedType, requested: GeneratedType, { password = '' }: LinkRequest) {
    const { hasher, rules } = this.deps
    if (type !== 'signup') return null
    if (requested === 'magiclink') return hasher.hash(randomPassword(rules.passwords))
    if (password === '') throw invalid('Signup requires a valid password')
    refusePassword(rules.passwords, password)
    return hasher.hash(password)
  }

  async #target(
    tx: Tx,
    audit: Audit,
    admin: Admin,
    input: { type: GeneratedType; email: string; passwordHash: string | null; data: JsonObject },
  ): Promise<User> {
    const { factory, users, now } = this.deps
    const { type, email } = input
    const creates = type === 'signup' || type === 'invite'
    const address = { kind: 'email', value: email } as const
    const found = creates
      ? (await factory.findOrInsert(tx, { ...input, address, aud: admin.aud })).user
      : await users.findByEmail(tx, email, admin.aud)
    const user = found && (await users.lockById(tx, found.id))
    if (user === null) throw userNotFound()
    if (creates && user.emailConfirmedAt !== null) throw emailExists()
    if (type === 'invite') await users.update(tx, user.id, { invitedAt: now() }, now())
    audit(auditActionOf(type), { adminRole: admin.role }, traitsOf(user))
    return user
  }

  async #issue(
    tx: Tx,
    user: User,
    type: GeneratedType,
    newEmail: string | null,
  ): Promise<{ user: User; issued: Issued }> {
    const { users, issuer, now } = this.deps
    const { slot } = PLANS[type]
    const value = slot === 'email_change_new' ? newEmail : user.email
    const issued = await issuer.issue(tx, user, {
      slot,
      address: { kind: 'email', value: value ?? '' },
      intervalMs: 0,
    })
    if (newEmail !== null)
      await users.update(
        tx,
        user.id,
        { newEmail, ...(newEmail === user.newEmail ? {} : { emailChangeConfirmStatus: 0 }) },
        now(),
      )
    return { user: (await users.findById(tx, user.id)) ?? user, issued }
  }
}

function auditActionOf(type: GeneratedType) {
  if (type === 'invite') return 'user_invited'
  if (type === 'signup') return 'user_confirmation_requested'
  return type === 'magiclink' || type === 'recovery' ? 'user_recovery_requested' : 'user_modified'
}

const emailExists = () =>
  authError('unprocessable', 'email_exists', 'A user with this email address has already been registered')
