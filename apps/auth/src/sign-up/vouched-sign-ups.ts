import { randomUUID } from 'node:crypto'
import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { addressExists } from '../errors/auth-error.js'
import type { Issued } from '../one-time-tokens/one-time-tokens.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { AddressHolders } from '../proofs/address-holders.js'
import { withoutClaims } from '../users/identity-claims.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { UserStore } from '../users/user-store.js'
import { mergeMetadata, type JsonObject, type User } from '../users/user.js'
import { isVouched, type PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { UserFactory } from './user-factory.js'

type Deps = {
  users: UserStore
  factory: UserFactory
  signUps: PendingSignUpStore
  holders: Pick<AddressHolders, 'release'>
  issuer: TokenIssuer
  now: () => Date
}

/** What an administrator says about an account, and which of its addresses it applies to. */
type Word = { kinds: readonly Address['kind'][]; aud: string; passwordHash: string | null; data: JsonObject }

/** The account, locked, and what the administrator says about it this time. */
export type Target = { user: User; aud: string; data: JsonObject }

/**
 * Accounts that administrators create for addresses. What the administrators say holds even if someone else signs up with the address in
 * the meantime.
 */
export class VouchedSignUps {
  constructor(private readonly deps: Deps) {}

  /** The user of an unproven address, locked, with the given data. Repeated calls merge their data. */
  async target(
    tx: Tx,
    { address, aud, data }: { address: Address; aud: string; data: JsonObject },
  ): Promise<Target> {
    const { users, factory, holders, now } = this.deps
    const given = withoutClaims(data)
    // If an account with a phone number claims the address, it belongs to someone else. Using it would merge the accounts of two people.
    const holder = await users.findByAddress(tx, address)
    if (holder !== null && holder.phone !== null) await holders.release(tx, address)
    const { user } = await factory.findOrInsert(tx, { address, aud })
    if (user.emailConfirmedAt !== null) throw addressExists('email')
    const metadata = StorableMetadata.changed(user, { userMetadata: given })
    await users.update(tx, user.id, { metadata }, now())
    return { user: { ...user, userMetadata: metadata.userMetadata }, aud, data: given }
  }

  /** An invitation has its own slot, so no sign-up replaces it. */
  async invite(tx: Tx, { user, aud, data }: Target, address: Address): Promise<Issued> {
    const { users, issuer, now } = this.deps
    const issued = await issuer.issue(tx, user, {
      slot: 'invite',
      address,
      from: undefined,
      intervalMs: 0,
      signUp: await this.#vouch(tx, user, { kinds: ['email'], aud, passwordHash: null, data }),
    })
    await users.update(tx, user.id, { invitedAt: now() }, now())
    return issued
  }

  /** Issues the link of a sign-up with an administrator's password. The password applies no matter how the address is proven. */
  async signUp(tx: Tx, { user, aud, data }: Target, address: Address, passwordHash: string | null) {
    const signUp = await this.#vouch(tx, user, { kinds: ['email'], aud, passwordHash, data })
    return this.deps.issuer.issue(tx, user, {
      slot: 'confirmation',
      address,
      from: undefined,
      intervalMs: 0,
      signUp,
    })
  }

  /** Records that an administrator says whose account this is, with its addresses of these kinds. A password and data are optional. */
  async vouch(tx: Tx, user: Pick<User, 'id'>, word: Omit<Word, 'data'> & Partial<Word>): Promise<void> {
    await this.#vouch(tx, user, { data: {}, ...word })
  }

  /**
   * Adds metadata that an administrator changes without naming an address to what administrators entered before, so that it survives the
   * proof of the address. If none has entered anything, the account may be a stranger's, and the proof discards what is written into it.
   */
  async amend(tx: Tx, { id: userId }: Pick<User, 'id'>, data: JsonObject): Promise<void> {
    const { signUps } = this.deps
    const said = await signUps.findAdministrators(tx, userId)
    if (said === null) return
    const userMetadata = mergeMetadata(said.userMetadata, data)
    await signUps.updateAdministrators(tx, userId, { ...said, userMetadata })
  }

  /** Each account has one such sign-up. The first call decides the audience, and repeated calls add to it. */
  async #vouch(tx: Tx, { id: userId }: Pick<User, 'id'>, { kinds, aud, passwordHash, data }: Word) {
    const { users, signUps, now } = this.deps
    const said = await signUps.findAdministrators(tx, userId)
    if (said === null) {
      const id = randomUUID()
      const word = {
        id,
        userId,
        origin: 'administrator',
        aud,
        passwordHash,
        userMetadata: mergeMetadata({}, data),
        identityId: null,
        addressKind: kinds.length === 1 ? kinds[0] : undefined,
      } as const
      await signUps.insert(tx, word, now())
      // Also done if a stranger's sign-up created the account, so that administrators find it in their list.
      await users.update(tx, userId, { aud }, now())
      return { id, isNew: true }
    }
    const isNewKind = kinds.some((kind) => !isVouched(said, kind))
    await signUps.updateAdministrators(tx, userId, {
      addressKind: isNewKind ? undefined : said.addressKind,
      passwordHash: passwordHash ?? said.passwordHash,
      userMetadata: mergeMetadata(said.userMetadata, data),
    })
    return { id: said.id, isNew: false }
  }
}
