import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { addressExists } from '../errors/auth-error.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { IdentityStore } from '../users/identity-store.js'
import { isVouched, type PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type User } from '../users/user.js'

type Deps = {
  users: UserStore
  identities: IdentityStore
  signUps: PendingSignUpStore
  tokens: OneTimeTokenStore
  now: () => Date
}

/** Which account has an address, whether it owns it, and how it loses it. */
export class AddressHolders {
  constructor(private readonly deps: Deps) {}

  /** An address has an owner once they proved it or an administrator said so; a mere claim does not count. */
  async isTaken(db: Queryable, address: Address): Promise<boolean> {
    const holder = await this.deps.users.findByAddress(db, address)
    return holder !== null && this.#isOwner(db, holder, address.kind)
  }

  /** An account that only claims the address loses it to the person who proves it. Returns the id of an owner, who keeps it. */
  async release(tx: Tx, address: Address): Promise<string | null> {
    const { users, signUps, tokens } = this.deps
    const { kind, value } = address
    const found = await users.findByAddress(tx, address)
    // Owners are locked too, although they keep the address: two users who swap addresses would otherwise wait for each other at the
    // unique index.
    const holder = found && (await users.lockById(tx, found.id))
    if (holder?.[kind] !== value) return null
    if (await this.#isOwner(tx, holder, kind)) return holder.id
    await signUps.removeUnvouched(tx, holder.id)
    await tokens.removeAll(tx, holder.id)
    await this.drop(tx, holder, kind)
    await users.removeIfAbandoned(tx, holder.id)
    return null
  }

  /** Frees the address for an account, whose row is locked. Refused if another account owns it. */
  async take(tx: Tx, user: User, address: Address): Promise<void> {
    const owner = await this.release(tx, address)
    if (owner !== null && owner !== user.id) throw addressExists(address.kind)
  }

  /** The account, whose row is locked, gives up an address and the identity that belongs to it. Returns the updated user. */
  async drop(tx: Tx, user: User, kind: Address['kind']): Promise<User> {
    if (user[kind] === null) return user
    const { users, identities, now } = this.deps
    const identity = user.identities.find(({ provider }) => provider === kind)
    if (identity !== undefined) await identities.remove(tx, identity.id)
    await users.updateAddresses(tx, user.id, { [kind]: null }, now())
    return (await users.findById(tx, user.id)) ?? user
  }

  async #isOwner(db: Queryable, holder: User, kind: Address['kind']): Promise<boolean> {
    return isProven(holder) || isVouched(await this.deps.signUps.findAdministrators(db, holder.id), kind)
  }
}
