import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { IdentityStore } from './identity-store.js'
import { providersOf, type Identity, type User } from './user.js'
import type { UserChanges, UserStore } from './user-store.js'

type Deps = { users: UserStore; identities: IdentityStore; now: () => Date }

/**
 * What follows once someone has proved that an address is theirs. All methods require the user's row to be locked,
 * and return the updated user.
 */
export class Confirmations {
  constructor(private readonly deps: Deps) {}

  /** The current email address; a second time changes nothing but the metadata. */
  async confirmEmail(tx: Tx, user: User, changes: UserChanges = {}): Promise<User> {
    for (const identity of user.identities)
      if (identity.email === user.email && user.email !== null)
        await this.#updateIdentity(tx, identity, { email_verified: true })
    return this.#finish(tx, user, {
      ...changes,
      emailConfirmedAt: user.emailConfirmedAt ?? this.deps.now(),
      userMetadata: { ...(changes.userMetadata ?? user.userMetadata), email_verified: true },
      isAnonymous: false,
    })
  }

  /** Someone proved a confirmed address again: only updates `app_metadata`. */
  refresh(tx: Tx, user: User): Promise<User> {
    return this.#finish(tx, user, {})
  }

  async confirmPhone(tx: Tx, user: User, changes: UserChanges = {}): Promise<User> {
    const { userMetadata = user.userMetadata } = changes
    for (const identity of user.identities)
      if (identity.provider === 'phone') await this.#updateIdentity(tx, identity, { phone_verified: true })
    return this.#finish(tx, user, {
      ...changes,
      phoneConfirmedAt: user.phoneConfirmedAt ?? this.deps.now(),
      // Updates the member if sign-up set it; one set by an administrator stays.
      ...('phone_verified' in userMetadata && { userMetadata: { ...userMetadata, phone_verified: true } }),
      isAnonymous: false,
    })
  }

  /** Sets a confirmed email address and the `email` identity that belongs to it; ends a pending change. */
  async setEmail(tx: Tx, user: User, email: string): Promise<User> {
    await this.#putIdentity(tx, user, 'email', { email, email_verified: true })
    return this.#finish(tx, user, {
      email,
      emailConfirmedAt: this.deps.now(),
      newEmail: null,
      emailChangeSentAt: null,
      emailChangeConfirmStatus: 0,
      userMetadata: { ...user.userMetadata, email, email_verified: true },
      isAnonymous: false,
    })
  }

  async setPhone(tx: Tx, user: User, phone: string): Promise<User> {
    await this.#putIdentity(tx, user, 'phone', { phone, phone_verified: true })
    return this.#finish(tx, user, {
      phone,
      phoneConfirmedAt: this.deps.now(),
      newPhone: null,
      phoneChangeSentAt: null,
      userMetadata: { ...user.userMetadata, phone, phone_verified: true },
      isAnonymous: false,
    })
  }

  /** Adds the missing identity of an account's address. */
  putAddressIdentity(tx: Tx, user: User, { kind, value }: Address): Promise<void> {
    return this.#putIdentity(tx, user, kind, { [kind]: value })
  }

  /** Sets an address on behalf of an administrator; its confirmation state does not change. */
  async replaceAddress(tx: Tx, user: User, { kind, value }: Address, verified: boolean): Promise<void> {
    await this.deps.users.update(tx, user.id, { [kind]: value }, this.deps.now())
    await this.#putIdentity(tx, user, kind, { [kind]: value, [`${kind}_verified`]: verified })
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

  async #finish(tx: Tx, before: User, changes: UserChanges): Promise<User> {
    const { users, now } = this.deps
    const { identities } = (await users.findById(tx, before.id)) ?? before
    await users.update(
      tx,
      before.id,
      { ...changes, appMetadata: { ...before.appMetadata, ...providersOf(identities) } },
      now(),
    )
    return (await users.findById(tx, before.id)) ?? before
  }
}
