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

/** Finds out which account has an address and whether it owns it, and takes addresses from accounts. */
export class AddressHolders {
  constructor(private readonly deps: Deps) {}

  /** Whether an account owns the address: someone proved it, or an administrator entered it. A mere claim does not count. */
  async isTaken(db: Queryable, address: Address): Promise<boolean> {
    const holder = await this.deps.users.findByAddress(db, address)
    return holder !== null && this.#isOwner(db, holder, address.kind)
  }

  /** Takes the address from an account that only claims it. If an account owns the address, it keeps it, and its id is returned. */
  async release(tx: Tx, address: Address): Promise<string | null> {
    const { users, signUps, tokens } = this.deps
    const { kind, value } = address
    const found = await users.findByAddress(tx, address)
    // Owners are locked too, although they keep the address. Otherwise, two users who swap addresses would wait for each other at the
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

  /** Removes an address and its identity from an account, whose row is locked. Returns the updated user. */
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
