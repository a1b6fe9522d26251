import type { Queryable } from '@signet/db'
import { normalizeEmail } from '../addresses/email.js'
import { addressExists, invalid } from '../errors/auth-error.js'
import type { Slot } from '../one-time-tokens/one-time-token.js'
import type { Issued } from '../one-time-tokens/one-time-tokens.js'
import type { LinkKind, SecretMessages } from '../messages/secret-messages.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { authorized } from '../hash-callers/known-callers.js'
import type { HashCaller } from '../passwords/hash-caller.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { PasswordRules } from '../passwords/password-rules.js'
import type { AddressHolders } from '../proofs/address-holders.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { VouchedSignUps } from '../sign-up/vouched-sign-ups.js'
import { withoutClaims } from '../users/identity-claims.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import { refuseEmpty, refusePassword } from '../users/new-password.js'
import type { PendingChangeStore } from '../users/pending-change-store.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type JsonObject, type User } from '../users/user.js'
import { traitsOf, userNotFound, type AdminAct, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'
import { LINK_TYPES, type GeneratedType } from './link-types.js'

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
  db: Queryable
  acts: AdminActs
  users: UserStore
  changes: PendingChangeStore
  holders: AddressHolders
  vouched: VouchedSignUps
  issuer: TokenIssuer
  messages: SecretMessages
  hasher: PasswordHasher
  rules: { passwords: PasswordRules; secureEmailChange: boolean }
  now: () => Date
}

const PLANS: Readonly<Record<GeneratedType, { slot: Slot; kind: LinkKind }>> = {
  signup: { slot: 'confirmation', kind: 'confirmation' },
  invite: { slot: 'invite', kind: 'invite' },
  magiclink: { slot: 'recovery', kind: 'magic_link' },
  recovery: { slot: 'recovery', kind: 'recovery' },
  email_change_current: { slot: 'email_change_current', kind: 'email_change' },
  email_change_new: { slot: 'email_change_new', kind: 'email_change' },
}

/** POST /admin/generate_link: the link of an email, without sending the email. */
export class LinkService {
  constructor(private readonly deps: Deps) {}

  async generate(
    admin: Admin,
    request: LinkRequest,
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<GeneratedLink> {
    const { db, users, acts, messages, rules } = this.deps
    const requested = LINK_TYPES.find((name) => name === request.type)
    if (requested === undefined) throw invalid(`Unsupported type, use one of ${LINK_TYPES.join(', ')}`)
    if (requested === 'email_change_current' && !rules.secureEmailChange)
      throw invalid('Enable secure email change to generate link for current email')
    refuseEmpty(request.password)
    const email = normalizeEmail(request.email ?? '')
    const known = await users.findByEmail(db, email)
    const type = requested === 'magiclink' && known === null ? 'signup' : requested
    const newEmail = await this.#newEmail(type, request)
    const passwordHash = await this.#passwordHash(
      type,
      requested,
      known === null,
      request,
      authorized(admin, meta),
    )
    const concerned = { addresses: [{ kind: 'email', value: email }] } as const
    const { aud } = admin
    const { user, issued } = await acts.transaction(admin, concerned, meta, (act) =>
      type === 'signup' || type === 'invite'
        ? this.#issueSignUp(act, { type, email, aud, passwordHash, data: request.data ?? {} })
        : this.#issue(act, { type, email, newEmail, aud, data: request.data ?? {} }),
    )
    return {
      user,
      actionLink: messages.linkOf(PLANS[type].kind, issued, redirectTo),
      otp: issued.secrets.otp,
      hashedToken: issued.secrets.linkToken,
      verificationType: type,
    }
  }

  async #newEmail(type: GeneratedType, request: LinkRequest): Promise<string | null> {
    if (type !== 'email_change_current' && type !== 'email_change_new') return null
    const newEmail = normalizeEmail(request.new_email ?? '')
    const { db, holders } = this.deps
    if (await holders.isTaken(db, { kind: 'email', value: newEmail })) throw addressExists('email')
    return newEmail
  }

  /** Required for a user who does not exist yet; an invited one chooses later. */
  async #passwordHash(
    type: GeneratedType,
    requested: GeneratedType,
    isNew: boolean,
    { password }: LinkRequest,
    caller: HashCaller,
  ): Promise<string | null> {
    const { hasher, rules } = this.deps
    if (type !== 'signup' || requested === 'magiclink') return null
    if (password === undefined && !isNew) return null
    if (password === undefined) throw invalid('Signup requires a valid password')
    refusePassword(rules.passwords, password)
    return hasher.hash(password, caller)
  }

  async #issueSignUp(
    { tx, record }: AdminAct,
    input: {
      type: 'signup' | 'invite'
      email: string
      aud: string
      passwordHash: string | null
      data: JsonObject
    },
  ): Promise<{ user: User; issued: Issued }> {
    const { vouched, users } = this.deps
    const { type, email, aud, data, passwordHash } = input
    const address = { kind: 'email', value: email } as const
    const target = await vouched.target(tx, { address, aud, data })
    record(auditActionOf(type), traitsOf(target.user))
    const issued =
      type === 'invite'
        ? await vouched.invite(tx, target, address)
        : await vouched.signUp(tx, target, address, passwordHash)
    return { user: (await users.findById(tx, target.user.id)) ?? target.user, issued }
  }

  async #issue(
    { tx, record }: AdminAct,
    input: { type: GeneratedType; email: string; newEmail: string | null; aud: string; data: JsonObject },
  ): Promise<{ user: User; issued: Issued }> {
    const { users, changes, vouched, issuer, now } = this.deps
    const { type, email, newEmail, aud } = input
    const data = withoutClaims(input.data)
    const user = await users.lockByAddress(tx, { kind: 'email', value: email })
    if (user === null) throw userNotFound()
    record(auditActionOf(type), traitsOf(user))
    const metadata = StorableMetadata.changed(user, { userMetadata: data })
    await users.update(tx, user.id, { metadata }, now())
    // The proof of an address discards what anyone else wrote into the account before. Data from an administrator must survive it.
    if (newEmail === null && !isProven(user) && Object.keys(data).length > 0)
      await vouched.vouch(tx, user, { kinds: ['email'], aud, passwordHash: null, data })
    const { slot } = PLANS[type]
    const value = slot === 'email_change_new' ? newEmail : user.email
    const issued = await issuer.issue(tx, user, {
      slot,
      address: { kind: 'email', value: value ?? '' },
      from: undefined,
      intervalMs: 0,
    })
    if (newEmail !== null && newEmail !== user.newEmail)
      await changes.beginEmail(tx, user.id, { newEmail, token: issued.id }, now())
    return { user: (await users.findById(tx, user.id)) ?? user, issued }
  }
}

function auditActionOf(type: GeneratedType) {
  if (type === 'invite') return 'user_invited'
  if (type === 'signup') return 'user_confirmation_requested'
  return type === 'magiclink' || type === 'recovery' ? 'user_recovery_requested' : 'user_modified'
}
