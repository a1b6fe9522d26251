import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { IdentityStore } from '../users/identity-store.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import { isProven, providersOf, type Identity, type JsonObject, type User } from '../users/user.js'
import type { AddressChanges, UserChanges, UserStore } from '../users/user-store.js'

type Deps = { users: UserStore; identities: IdentityStore; now: () => Date }
type Brought = Pick<UserChanges, 'aud' | 'passwordHash' | 'metadata'>

/**
 * Writes the results of a proof to the database. It makes no decisions. Only {@link AddressProofs} creates one, because it knows what has
 * to be removed first. Every method requires the user's row to be locked, and returns the updated user.
 */
export class Confirmations {
  constructor(private readonly deps: Deps) {}

  /** Confirms the current address of this kind. If it is confirmed already, only the metadata changes. */
  confirm(tx: Tx, user: User, kind: Address['kind'], brought: Brought = {}): Promise<User> {
    return kind === 'email' ? this.#confirmEmail(tx, user, brought) : this.#confirmPhone(tx, user, brought)
  }

  /** Only updates `app_metadata`. */
  refresh(tx: Tx, user: User): Promise<User> {
    return this.#finish(tx, user, {})
  }

  /** Sets a confirmed address and the identity that belongs to it; ends a pending change. */
  async set(tx: Tx, user: User, { kind, value }: Address, brought: Brought = {}): Promise<User> {
    await this.#putIdentity(tx, user, kind, { [kind]: value, [`${kind}_verified`]: true })
    const confirmedAt = this.deps.now()
    return this.#finish(
      tx,
      user,
      {
        ...brought,
        ...(kind === 'email'
          ? { email: value, emailConfirmedAt: confirmedAt, newEmail: null, emailChangeSentAt: null }
          : { phone: value, phoneConfirmedAt: confirmedAt, newPhone: null, phoneChangeSentAt: null }),
        isAnonymous: false,
      },
      { [kind]: value, [`${kind}_verified`]: true },
    )
  }

  /** Sets a confirmed email address that another identity brought. */
  async takeFromIdentity(tx: Tx, user: User, email: string, brought: Brought): Promise<User> {
    const { users, now } = this.deps
    await users.updateAddresses(tx, user.id, { email, emailConfirmedAt: now() }, now())
    return this.#confirmEmail(tx, { ...user, email, emailConfirmedAt: now() }, brought)
  }

  /** Sets an address and leaves its confirmation as it is. While no address is proven, the account keeps no password. */
  async replace(tx: Tx, user: User, { kind, value }: Address, verified: boolean): Promise<User> {
    const { users, now } = this.deps
    const password = isProven(user) ? {} : { passwordHash: null }
    await users.updateAddresses(tx, user.id, { [kind]: value, ...password }, now())
    await this.#putIdentity(tx, user, kind, { [kind]: value, [`${kind}_verified`]: verified })
    return (await users.findById(tx, user.id)) ?? user
  }

  /** Removes addresses from the account. The password goes with the last proven one, because it would open an account without an owner. */
  withdraw(tx: Tx, user: User, lost: readonly Address['kind'][], instead: string | null): Promise<User> {
    const isProvedAnyway = instead === null ? null : (user.emailConfirmedAt ?? this.deps.now())
    const changes: AddressChanges = {
      ...(lost.includes('phone') && { phone: null, phoneConfirmedAt: null }),
      ...(lost.includes('email') && { email: instead, emailConfirmedAt: isProvedAnyway }),
    }
    const after = { ...user, ...changes }
    const isOpen = !isProven(after) && (after.email !== null || after.phone !== null)
    return this.#finish(tx, user, { ...changes, ...(isOpen && { passwordHash: null }) })
  }

  /** Adds the missing identity of an account's address. */
  putAddressIdentity(tx: Tx, user: User, { kind, value }: Address): Promise<void> {
    return this.#putIdentity(tx, user, kind, { [kind]: value })
  }

  async #confirmEmail(tx: Tx, user: User, brought: Brought): Promise<User> {
    for (const identity of user.identities)
      if (identity.email === user.email && user.email !== null)
        await this.#updateIdentity(tx, identity, { email_verified: true })
    return this.#finish(
      tx,
      user,
      {
        ...brought,
        emailConfirmedAt: user.emailConfirmedAt ?? this.deps.now(),
        isAnonymous: false,
      },
      { email_verified: true },
    )
  }

  async #confirmPhone(tx: Tx, user: User, brought: Brought): Promise<User> {
    const { userMetadata } = brought.metadata ?? user
    for (const identity of user.identities)
      if (identity.provider === 'phone') await this.#updateIdentity(tx, identity, { phone_verified: true })
    return this.#finish(
      tx,
      user,
      {
        ...brought,
        phoneConfirmedAt: user.phoneConfirmedAt ?? this.deps.now(),
        isAnonymous: false,
        // Updates the member if sign-up set it; one set by an administrator stays.
      },
      'phone_verified' in userMetadata ? { phone_verified: true } : {},
    )
  }

  async #putIdentity(tx: Tx, user: User, provider: 'email' | 'phone', data: Record<string, unknown>) {
    const existing = user.identities.find((identity) => identity.provider === provider)
    if (existing) return this.#updateIdentity(tx, existing, data)
    await this.deps.identities.insert(
      tx,
      {
        userId: user.id,
        provider,
        providerId: user.id,
        identityData: { sub: user.id, email_verified: false, phone_verified: false, ...data },
      },
      this.deps.now(),
    )
  }

  async #updateIdentity(tx: Tx, identity: Identity, data: Record<string, unknown>): Promise<void> {
    const { identities, now } = this.deps
    await identities.updateData(tx, identity.id, { ...identity.identityData, ...data }, now())
  }

  /** `stated` are members of `user_metadata`. */
  async #finish(
    tx: Tx,
    before: User,
    changes: UserChanges & AddressChanges,
    stated: JsonObject = {},
  ): Promise<User> {
    const { users, now } = this.deps
    const { identities } = (await users.findById(tx, before.id)) ?? before
    const metadata = StorableMetadata.stated(changes.metadata ?? before, {
      userMetadata: stated,
      appMetadata: providersOf(identities),
    })
    await users.updateAddresses(tx, before.id, { ...changes, metadata }, now())
    return (await users.findById(tx, before.id)) ?? before
  }
}
