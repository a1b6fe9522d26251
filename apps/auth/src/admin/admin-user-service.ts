import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { addressExists, authError, invalid } from '../errors/auth-error.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { isUsableHash } from '../passwords/hash-formats.js'
import { authorized } from '../hash-callers/known-callers.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { PasswordRules } from '../passwords/password-rules.js'
import type { AddressHolders } from '../proofs/address-holders.js'
import type { AddressProofs } from '../proofs/address-proofs.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { NOTHING_ELSE, type SessionEnds } from '../sessions/session-ends.js'
import type { VouchedSignUps } from '../sign-up/vouched-sign-ups.js'
import type { IdentityStore } from '../users/identity-store.js'
import { refuseEmpty, refusePassword, refuseTooLong } from '../users/new-password.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, mergeMetadata, type User } from '../users/user.js'
import { isUuid, NIL_UUID } from '../users/uuid.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import { recordCancelledBy, traitsOf, userNotFound, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'
import type { Page } from './paging.js'
import { checkAttributes, type CheckedAttributes, type UserAttributes } from './user-attributes.js'
import type { UserListStore } from './user-list-store.js'

type Deps = {
  db: Db
  acts: AdminActs
  users: UserStore
  lists: UserListStore
  identities: IdentityStore
  ends: SessionEnds
  tokens: OneTimeTokenStore
  vouched: VouchedSignUps
  holders: AddressHolders
  proofs: AddressProofs
  hasher: PasswordHasher
  rules: { role: string; audiences: readonly string[]; passwords: PasswordRules }
  now: () => Date
}

/** Lists, creates and changes users for administrators. */
export class AdminUserService {
  constructor(private readonly deps: Deps) {}

  async list(
    { aud }: Admin,
    { page, sort, filter }: { page: Page; sort: string; filter: string },
  ): Promise<{ users: User[]; total: number }> {
    const { db, lists } = this.deps
    const offset = (page.number - 1) * page.size
    const [users, total] = await Promise.all([
      db.search((tx) => lists.list(tx, { aud, filter, order: orderOf(sort), offset, limit: page.size })),
      db.search((tx) => lists.count(tx, aud, filter)),
    ])
    return { users, total }
  }

  async get(id: string): Promise<User> {
    const user = await this.deps.users.findById(this.deps.db, id)
    if (user === null) throw userNotFound()
    return user
  }

  async create(admin: Admin, attributes: UserAttributes, meta: RequestMeta): Promise<User> {
    const { users, vouched, acts, rules, now } = this.deps
    const checked = checkAttributes(attributes, now())
    refuseEmpty(attributes.password)
    const { email, phone } = checked
    const id = newId(attributes.id)
    const aud = given(attributes.aud) ?? admin.aud
    if (!rules.audiences.includes(aud))
      throw invalid('aud must be an audience of AUTH_JWT_AUD or AUTH_JWT_ALLOWED_AUDIENCES')
    if (email === null && phone === null)
      throw invalid('Cannot create a user without either an email or phone')
    const passwordHash = await this.#hashOfNew(admin, attributes, meta)
    const providers = [...(email === null ? [] : ['email']), ...(phone === null ? [] : ['phone'])]
    const metadata = StorableMetadata.limited({
      userMetadata: checked.userMetadata,
      appMetadata: mergeMetadata({ provider: providers[0], providers }, checked.appMetadata),
    })
    return acts.transaction(admin, { addresses: addressesOf(checked) }, meta, async ({ tx, record }) => {
      await this.#release(tx, { email, phone })
      const inserted = await users.insert(
        tx,
        {
          id,
          aud,
          role: checked.role ?? rules.role,
          email,
          phone,
          passwordHash: null,
          metadata,
          isAnonymous: false,
        },
        now(),
      )
      if (!inserted) throw await this.#whyNotInserted(tx, id, { email, phone })
      await this.#insertIdentities(tx, id, email, phone)
      if (checked.bannedUntil) await users.update(tx, id, { bannedUntil: checked.bannedUntil }, now())
      await vouched.vouch(tx, { id }, { kinds: ['email', 'phone'], aud, passwordHash })
      const user = await this.#confirm(tx, id, checked)
      record('user_signedup', traitsOf(user))
      return user
    })
  }

  /** `password` is for requests that may change it; undefined leaves it alone (docs/specification.md#versions). */
  async update(
    admin: Admin,
    id: string,
    attributes: UserAttributes,
    password: string | undefined,
    meta: RequestMeta,
  ): Promise<User> {
    const { users, ends, acts, hasher, rules, now } = this.deps
    const checked = checkAttributes(attributes, now())
    refuseEmpty(attributes.password)
    await this.get(id)
    if (password !== undefined) refusePassword(rules.passwords, password)
    const passwordHash =
      password === undefined ? undefined : await hasher.hash(password, authorized(admin, meta))
    const concerned = { id, addresses: addressesOf(checked) }
    return acts.onUser(admin, concerned, meta, async ({ tx, record, user }) => {
      const changes = changesOf(user, checked)
      await users.update(tx, id, changes, now())
      await this.#vouch(tx, admin, user, checked, passwordHash)
      const isBanned = checked.bannedUntil != null && checked.bannedUntil > now()
      const byBan = isBanned ? await ends.all(tx, id, 'ban') : NOTHING_ELSE
      const byPassword = passwordHash === undefined ? NOTHING_ELSE : await ends.all(tx, id, 'admin')
      await this.#setAddresses(tx, id, checked)
      const changed = await this.#confirm(tx, id, checked)
      record('user_modified', traitsOf(changed))
      recordCancelledBy({ record, user }, byBan)
      recordCancelledBy({ record, user }, byPassword)
      return changed
    })
  }

  /**
   * A new password voids all links already sent, just as after a change by the user. Until an address is proven, the password only takes
   * effect with the proof, like any other password. The addresses and the metadata in the administrator's request are recorded as the
   * owner's.
   */
  async #vouch(
    tx: Tx,
    admin: Admin,
    user: User,
    checked: CheckedAttributes,
    passwordHash: string | undefined,
  ): Promise<void> {
    const { users, tokens, vouched, now } = this.deps
    if (isProven(user)) {
      if (passwordHash === undefined) return
      await users.update(tx, user.id, { passwordHash }, now())
      return tokens.removeAll(tx, user.id)
    }
    const named = KINDS.filter((kind) => checked[kind] !== null || isConfirmed(checked, kind))
    const { userMetadata: data } = checked
    if (passwordHash === undefined && named.length === 0) return vouched.amend(tx, user, data)
    const kinds = passwordHash === undefined ? named : KINDS
    // An account without an address has always belonged to the person who uses it, so it keeps its audience.
    const aud = user.email === null && user.phone === null ? user.aud : admin.aud
    await vouched.vouch(tx, user, { kinds, aud, passwordHash: passwordHash ?? null, data })
  }

  /** Sets addresses at once, together with the identities that belong to them. */
  async #setAddresses(tx: Tx, id: string, checked: CheckedAttributes): Promise<void> {
    for (const kind of KINDS) {
      const user = await this.#read(tx, id)
      const value = checked[kind]
      if (value === null || value === user[kind]) continue
      await this.deps.proofs.enter(tx, user, { kind, value }, { confirmed: isConfirmed(checked, kind) })
    }
  }

  async #confirm(tx: Tx, id: string, checked: CheckedAttributes): Promise<User> {
    for (const kind of KINDS) {
      const user = await this.#read(tx, id)
      if (isConfirmed(checked, kind) && user[kind] !== null) await this.deps.proofs.confirm(tx, user, kind)
    }
    return this.#read(tx, id)
  }

  async #read(tx: Tx, id: string): Promise<User> {
    const user = await this.deps.users.findById(tx, id)
    if (user === null) throw userNotFound()
    return user
  }

  /** Takes the addresses from accounts that claim them without a proof, because the word of an administrator counts for more. */
  async #release(tx: Tx, { email, phone }: { email: string | null; phone: string | null }): Promise<void> {
    const { holders } = this.deps
    if (email !== null) await holders.release(tx, { kind: 'email', value: email })
    if (phone !== null) await holders.release(tx, { kind: 'phone', value: phone })
  }

  async #insertIdentities(tx: Tx, userId: string, email: string | null, phone: string | null): Promise<void> {
    const { identities, now } = this.deps
    for (const [provider, value] of Object.entries({ email, phone })) {
      if (value === null) continue
      const identityData = { sub: userId, [provider]: value, email_verified: false, phone_verified: false }
      await identities.insert(tx, { userId, provider, providerId: userId, identityData }, now())
    }
  }

  /**
   * The administrator decides how strong a password must be. Only passwords that bcrypt would truncate are refused. Null if there is no
   * password.
   */
  async #hashOfNew(
    admin: Admin,
    { password = '', password_hash: hash = '' }: UserAttributes,
    meta: RequestMeta,
  ): Promise<string | null> {
    const { hasher, rules } = this.deps
    if (password !== '' && hash !== '') throw invalid('Only a password or a password hash should be provided')
    if (hash !== '') {
      if (!isUsableHash(hash)) throw invalid('Unsupported password hash format')
      return hash
    }
    refuseTooLong(rules.passwords, password)
    return password === '' ? null : hasher.hash(password, authorized(admin, meta))
  }

  async #whyNotInserted(
    tx: Tx,
    id: string,
    { email, phone }: { email: string | null; phone: string | null },
  ) {
    const { users } = this.deps
    if ((await users.findById(tx, id)) !== null)
      return authError('unprocessable', 'user_already_exists', 'A user with this id already exists')
    const byEmail = email === null ? null : await users.findByEmail(tx, email)
    return addressExists(byEmail === null && phone !== null ? 'phone' : 'email')
  }
}

const KINDS = ['email', 'phone'] as const

const isConfirmed = (checked: CheckedAttributes, kind: Address['kind']): boolean =>
  kind === 'email' ? checked.emailConfirm : checked.phoneConfirm

const addressesOf = (checked: CheckedAttributes): Address[] =>
  KINDS.flatMap((kind) => {
    const value = checked[kind]
    return value === null ? [] : [{ kind, value }]
  })

function newId(id: string | undefined): string {
  if (id === undefined || id === '') return randomUUID()
  if (!isUuid(id) || id === NIL_UUID) throw invalid('ID must be a uuid, and not the nil uuid')
  return id.toLowerCase()
}

function changesOf(user: User, checked: CheckedAttributes) {
  return {
    role: checked.role,
    bannedUntil: checked.bannedUntil,
    metadata: StorableMetadata.changed(user, checked),
  }
}

function orderOf(sort: string): 'asc' | 'desc' {
  const [field, direction = 'desc', ...rest] = sort.trim().split(/\s+/)
  if (field === '' || field === undefined) return 'desc'
  if (field !== 'created_at' || rest.length > 0) throw invalid('Bad Sort Parameters: only created_at')
  if (direction.toLowerCase() !== 'asc' && direction.toLowerCase() !== 'desc')
    throw invalid('Bad Sort Parameters: asc or desc')
  return direction.toLowerCase() === 'asc' ? 'asc' : 'desc'
}

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text)
