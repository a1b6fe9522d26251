import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import type { PendingSignUp, PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { Confirmations } from '../users/confirmations.js'
import type { IdentityStore } from '../users/identity-store.js'
import { identityClaims } from '../users/identity-claims.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type JsonObject, type User } from '../users/user.js'

/** What a proof of an address adds to the account: what the sign-up brought, otherwise nothing. */
export type Claim = Pick<PendingSignUp, 'origin' | 'passwordHash' | 'userMetadata' | 'identityId'>

type TakenOver = { user: User; passwordHash: string | null; trusted: JsonObject }

type Deps = {
  users: UserStore
  identities: IdentityStore
  signUps: PendingSignUpStore
  tokens: OneTimeTokenStore
  ends: SessionEnds
  confirmations: Confirmations
  now: () => Date
}

/**
 * The only way for an address to get an owner. Until then the account belongs to nobody: a sign-up, by form or
 * through a provider that does not vouch for the address, may be a stranger's. So the first proof discards everything
 * that came before it, and only what the proof itself brings, or what an administrator said, takes effect. All
 * methods require the user's row to be locked, and return the updated user.
 */
export class AddressProofs {
  constructor(private readonly deps: Deps) {}

  /** Someone proved that they own the account's address of this kind. */
  async prove(tx: Tx, user: User, kind: Address['kind'], claim: Claim | null): Promise<User> {
    const { signUps } = this.deps
    if (isProven(user)) {
      // The account already has an owner, so what the sign-up brought is discarded.
      await signUps.removeAll(tx, user.id)
      return this.#confirm(tx, user, kind, {})
    }
    const administrators = await signUps.findAdministrators(tx, user.id)
    const hadForeign = hasForeignIdentity(user, claim?.identityId ?? null)
    const cleared = await this.#clear(tx, user, claim?.identityId ?? null)
    const alone = await this.#withIdentity(tx, cleared, kind)
    // Someone else wrote into it through a provider.
    const kept = hadForeign ? (administrators?.userMetadata ?? {}) : user.userMetadata
    const isSelfMade = claim?.origin === 'self' || (administrators === null && user.invitedAt === null)
    const changes = {
      passwordHash: claim?.passwordHash ?? administrators?.passwordHash ?? null,
      userMetadata: {
        ...kept,
        ...claim?.userMetadata,
        ...(isSelfMade && claim?.identityId == null ? identityClaims(user, kind) : {}),
      },
    }
    return this.#confirm(tx, alone, kind, changes)
  }

  /** A new account whose address counts as proved without a message. */
  confirmNew(tx: Tx, user: User, kind: Address['kind'], claim: Claim): Promise<User> {
    const userMetadata: JsonObject = {
      ...user.userMetadata,
      ...claim.userMetadata,
      ...(claim.origin === 'self' ? identityClaims(user, kind) : {}),
    }
    return this.#confirm(tx, user, kind, { passwordHash: claim.passwordHash, userMetadata })
  }

  /** An address has an owner once they proved it or an administrator said so; a mere claim does not count. */
  async isTaken(db: Queryable, address: Address): Promise<boolean> {
    const { users, signUps } = this.deps
    const holder = await users.findByAddress(db, address)
    if (holder === null || isProven(holder)) return holder !== null
    return (await signUps.findAdministrators(db, holder.id)) !== null
  }

  /** An account that only claims the address loses it to the person who proves it. */
  async release(tx: Tx, address: Address): Promise<void> {
    const { users, identities, signUps, tokens, now } = this.deps
    const found = await users.findByAddress(tx, address)
    const holder = found && (await users.lockById(tx, found.id))
    if (holder?.[address.kind] !== address.value || (await this.isTaken(tx, address))) return
    await signUps.removeAll(tx, holder.id)
    await tokens.removeAll(tx, holder.id)
    const identity = holder.identities.find(({ provider }) => provider === address.kind)
    if (identity !== undefined) await identities.remove(tx, identity.id)
    await users.update(tx, holder.id, { [address.kind]: null }, now())
    await users.removeIfAbandoned(tx, holder.id)
  }

  /**
   * A signed-in user proved another address for the account. Unproved addresses must not stay: their real owners
   * would later be led into someone else's account.
   */
  async beforeChange(tx: Tx, user: User, kind: Address['kind']): Promise<User> {
    if (isProven(user)) return user
    const { users, identities, signUps, now } = this.deps
    const isVouched = (await signUps.findAdministrators(tx, user.id)) !== null
    await signUps.removeAll(tx, user.id)
    const other = kind === 'email' ? 'phone' : 'email'
    if (isVouched || user[other] === null) return user
    const identity = user.identities.find(({ provider }) => provider === other)
    if (identity !== undefined) await identities.remove(tx, identity.id)
    await users.update(tx, user.id, { [other]: null }, now())
    return this.#read(tx, user)
  }

  /**
   * A provider vouches for the address of an unproved account: all other identities are removed. `trusted` is the
   * metadata that no stranger wrote.
   */
  async takeOver(tx: Tx, user: User, identityId: string): Promise<TakenOver> {
    const { identities, signUps, users, now } = this.deps
    const administrators = await signUps.findAdministrators(tx, user.id)
    const hadForeign = hasForeignIdentity(user, identityId)
    await this.#clear(tx, user, identityId)
    await identities.removeOthers(tx, user.id, identityId)
    if (user.phone !== null) await users.update(tx, user.id, { phone: null }, now())
    return {
      user: await this.#read(tx, user),
      passwordHash: administrators?.passwordHash ?? null,
      trusted: hadForeign ? (administrators?.userMetadata ?? {}) : user.userMetadata,
    }
  }

  async #clear(tx: Tx, user: User, identityId: string | null): Promise<User> {
    const { users, identities, signUps, tokens, ends, now } = this.deps
    const isShared = hasForeignIdentity(user, identityId)
    await signUps.removeAll(tx, user.id)
    await tokens.removeAll(tx, user.id)
    await identities.removeForeign(tx, user.id, identityId)
    // Sessions of the kept identity belong to its owner.
    if (identityId === null || isShared) {
      await ends.all(tx, user.id, 'address_proved')
      await users.removeAuthenticators(tx, user.id)
    }
    if (user.newEmail !== null || user.newPhone !== null)
      await users.update(tx, user.id, { newEmail: null, newPhone: null }, now())
    return this.#read(tx, user)
  }

  async #withIdentity(tx: Tx, user: User, kind: Address['kind']): Promise<User> {
    const value = user[kind]
    if (user.identities.length > 0 || value === null) return user
    await this.deps.confirmations.putAddressIdentity(tx, user, { kind, value })
    return this.#read(tx, user)
  }

  #confirm(
    tx: Tx,
    user: User,
    kind: Address['kind'],
    changes: { passwordHash?: string | null; userMetadata?: JsonObject },
  ) {
    const { confirmations } = this.deps
    return kind === 'email'
      ? confirmations.confirmEmail(tx, user, changes)
      : confirmations.confirmPhone(tx, user, changes)
  }

  async #read(tx: Tx, user: User): Promise<User> {
    return (await this.deps.users.findById(tx, user.id)) ?? user
  }
}

const hasForeignIdentity = (user: User, exceptId: string | null): boolean =>
  user.identities.some(({ id, provider }) => provider !== 'email' && provider !== 'phone' && id !== exceptId)
