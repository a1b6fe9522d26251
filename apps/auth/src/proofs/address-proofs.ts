import { isUniqueViolation, type Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { RestartError } from '../database/restart-error.js'
import { authError } from '../errors/auth-error.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import { isVouched, type PendingSignUp, type PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { IdentityStore } from '../users/identity-store.js'
import { identityClaims } from '../users/identity-claims.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type JsonObject, type User } from '../users/user.js'
import type { AddressHolders } from './address-holders.js'
import { Confirmations } from './confirmations.js'

/** What a proof of an address adds to the account: the data of the sign-up, or else nothing. */
export type Claim = Pick<PendingSignUp, 'origin' | 'aud' | 'passwordHash' | 'userMetadata' | 'identityId'>

/** An identity whose provider vouches for the account's address. */
export type Voucher = {
  identityId: string
  /** What the provider says about the user. */
  data: JsonObject
  /** The audience of the request; null if the request cannot name one. */
  aud: string | null
  /** The account was just created for this identity. */
  isNew: boolean
  /** The account had this identity before, so the account's sessions may be those of its owner. */
  isReturning: boolean
}

type Kind = Address['kind']

type Deps = {
  users: UserStore
  holders: AddressHolders
  identities: IdentityStore
  signUps: PendingSignUpStore
  tokens: OneTimeTokenStore
  ends: SessionEnds
  /** The audience of accounts if no request named one. */
  audience: string
  now: () => Date
}

/**
 * Decides what happens to an account when someone proves one of its addresses. Until then, nobody knows whose account it is: anyone can
 * sign up with someone else's address, or through a provider that does not verify addresses. So the first proof gives the account to the
 * person who made it, and discards what came before (password, sessions, other identities), except what the proof itself brings and what
 * an administrator entered. The person also takes the address from other accounts that claimed it without a proof, and the account loses
 * its other address if that one is unproven. Every method requires the user's row to be locked, and returns the updated user.
 */
export class AddressProofs {
  readonly #confirmations: Confirmations

  constructor(private readonly deps: Deps) {
    this.#confirmations = new Confirmations(deps)
  }

  /** Someone proved that they own the account's address of this kind. */
  async prove(tx: Tx, user: User, kind: Kind, claim: Claim | null): Promise<User> {
    const { holders, signUps } = this.deps
    if (isProven(user)) {
      // The account already has an owner, so what the sign-up brought is discarded.
      await signUps.removeAll(tx, user.id)
      return this.#confirmations.confirm(tx, user, kind)
    }
    const administrators = await signUps.findAdministrators(tx, user.id)
    const hadForeign = hasForeignIdentity(user, claim?.identityId ?? null)
    const cleared = await this.#clear(tx, user, claim?.identityId ?? null, true)
    // Only if an administrator entered both addresses is it certain that they belong to one person.
    const areOnes = KINDS.every((each) => isVouched(administrators, each))
    const rest = areOnes ? cleared : await holders.drop(tx, cleared, otherThan(kind))
    const alone = await this.#withIdentity(tx, rest, kind)
    const kept = hadForeign ? saidBy(administrators, alone) : user.userMetadata
    const isSelfMade = claim?.origin === 'self' || (administrators === null && user.invitedAt === null)
    return this.#confirmations.confirm(tx, alone, kind, {
      aud: this.#audienceOf(administrators, claim),
      passwordHash: claim?.passwordHash ?? administrators?.passwordHash ?? null,
      metadata: StorableMetadata.stated(
        StorableMetadata.fitting({ ...alone, userMetadata: kept }, claim?.userMetadata ?? {}),
        isSelfMade && claim?.identityId == null ? { userMetadata: identityClaims(user, kind) } : {},
      ),
    })
  }

  /**
   * An administrator confirms the account's address. An anonymous account can only have got it from an administrator, who meant the
   * person using that account. So that person keeps everything, just as if the address had been entered and confirmed in one request. Any
   * other account may be a stranger's, and goes through the same steps as with a proof.
   */
  async confirm(tx: Tx, user: User, kind: Kind): Promise<User> {
    const value = user[kind]
    const isHolders = user.isAnonymous && !isProven(user) && !hasForeignIdentity(user, null)
    if (!isHolders || value === null) return this.prove(tx, user, kind, null)
    const { signUps, tokens } = this.deps
    const said = await signUps.findAdministrators(tx, user.id)
    // In the meantime, others may have signed up with the address and requested links.
    await signUps.removeAll(tx, user.id)
    await tokens.removeAll(tx, user.id)
    return this.#confirmations.set(tx, user, { kind, value }, passwordOf(said))
  }

  /** Someone proved a confirmed address again: only updates `app_metadata`. */
  refresh(tx: Tx, user: User): Promise<User> {
    return this.#confirmations.refresh(tx, user)
  }

  /** Confirms the address of a new account without a message. */
  confirmNew(tx: Tx, user: User, kind: Kind, claim: Claim): Promise<User> {
    const metadata = StorableMetadata.stated(
      StorableMetadata.fitting(user, claim.userMetadata),
      claim.origin === 'self' ? { userMetadata: identityClaims(user, kind) } : {},
    )
    return this.#confirmations.confirm(tx, user, kind, { passwordHash: claim.passwordHash, metadata })
  }

  /** A provider vouches for the account's email address. If the account had no owner, it keeps only this address and this identity. */
  async proveByProvider(
    tx: Tx,
    user: User,
    { identityId, data, aud, isNew, isReturning }: Voucher,
  ): Promise<User> {
    if (isNew || isProven(user)) return this.#confirmations.confirm(tx, user, 'email')
    const { holders, identities, signUps } = this.deps
    const administrators = await signUps.findAdministrators(tx, user.id)
    const hadForeign = hasForeignIdentity(user, identityId)
    const cleared = await this.#clear(tx, user, identityId, isReturning)
    await identities.removeOthers(tx, user.id, identityId)
    const { appMetadata } = await holders.drop(tx, cleared, 'phone')
    const trusted = hadForeign ? saidBy(administrators, { appMetadata }) : user.userMetadata
    return this.#confirmations.confirm(tx, await this.#read(tx, user), 'email', {
      aud: this.#audienceOf(administrators, { aud }),
      passwordHash: administrators?.passwordHash ?? null,
      metadata: StorableMetadata.fitting({ userMetadata: trusted, appMetadata }, data),
    })
  }

  /**
   * Refuses to change the address if someone signed up for the account and an administrator entered the address later. The administrator
   * may have meant someone else, so that address has to be proven first. An anonymous account has only ever had one user, so there the
   * administrator can only have meant that person.
   */
  async requireAdoptable(tx: Tx, user: User): Promise<void> {
    if (isProven(user) || user.isAnonymous) return
    refuseVouched(user, await this.deps.signUps.findAdministrators(tx, user.id))
  }

  /** A signed-in user proved another address, which becomes the account's. */
  async adopt(tx: Tx, user: User, address: Address): Promise<User> {
    const { user: owned, passwordHash } = await this.#settle(tx, user, address.kind)
    await this.deps.holders.take(tx, user, address)
    return this.#confirmations.set(tx, owned, address, { passwordHash }).catch(restartIfTaken)
  }

  /** A provider that a signed-in user linked vouches for an address, and the account has none. */
  async adoptFromProvider(tx: Tx, user: User, email: string): Promise<User> {
    const address = { kind: 'email', value: email } as const
    const { user: owned, passwordHash } = await this.#settle(tx, user, address.kind)
    await this.deps.holders.take(tx, user, address)
    return this.#confirmations.takeFromIdentity(tx, owned, email, { passwordHash }).catch(restartIfTaken)
  }

  /**
   * An administrator enters an address. If it is confirmed and the account's first one, nobody else can have claimed the account before,
   * so its user keeps everything. Otherwise the account stays as confirmed or unconfirmed as it was.
   */
  async enter(tx: Tx, user: User, address: Address, { confirmed }: { confirmed: boolean }): Promise<User> {
    const { holders, signUps } = this.deps
    const { kind } = address
    const isFirst = user.email === null && user.phone === null
    await holders.take(tx, user, address)
    const said = isFirst ? await signUps.findAdministrators(tx, user.id) : null
    if (confirmed && isFirst) await signUps.removeAll(tx, user.id)
    // Existing links and sign-ups were for the previous address.
    else if (user[kind] !== null) await signUps.removeUnvouched(tx, user.id)
    const entered =
      confirmed && isFirst
        ? this.#confirmations.set(tx, user, address, passwordOf(said))
        : this.#confirmations.replace(tx, user, address, confirmed)
    return entered.catch(restartIfTaken)
  }

  /**
   * The identity that an address came with was removed, so the account loses that address. It gets the address of another identity instead;
   * without one, it no longer has an owner.
   */
  async withdraw(
    tx: Tx,
    user: User,
    { lost, instead }: { lost: readonly Kind[]; instead: string | null },
  ): Promise<User> {
    if (lost.length === 0) return this.#confirmations.refresh(tx, user)
    await this.requireAdoptable(tx, user)
    if (instead !== null) await this.deps.holders.release(tx, { kind: 'email', value: instead })
    return this.#confirmations.withdraw(tx, user, lost, instead)
  }

  /**
   * If the account has no owner yet, the person who proved another address becomes it. Its unproven addresses are removed: they may
   * belong to others, who would one day prove them and end up in this account.
   */
  async #settle(tx: Tx, user: User, kind: Kind): Promise<{ user: User; passwordHash?: string }> {
    if (isProven(user)) return { user }
    const { holders, signUps } = this.deps
    await this.requireAdoptable(tx, user)
    const administrators = await signUps.findAdministrators(tx, user.id)
    await signUps.removeAll(tx, user.id)
    return { user: await holders.drop(tx, user, otherThan(kind)), ...passwordOf(administrators) }
  }

  /** Never uses the current audience of the account, which a stranger may have chosen by signing up. */
  #audienceOf(...named: readonly (Pick<PendingSignUp, 'aud'> | null)[]): string {
    return named.find((each) => each?.aud != null)?.aud ?? this.deps.audience
  }

  async #clear(tx: Tx, user: User, identityId: string | null, isReturning: boolean): Promise<User> {
    const { users, identities, signUps, tokens, ends, now } = this.deps
    const isShared = hasForeignIdentity(user, identityId)
    await signUps.removeAll(tx, user.id)
    await tokens.removeAll(tx, user.id)
    await identities.removeForeign(tx, user.id, identityId)
    // Sessions of the kept identity belong to its owner.
    if (identityId === null || isShared || !isReturning) {
      await ends.all(tx, user.id, 'address_proved')
      await users.removeAuthenticators(tx, user.id)
      // Someone who was signed in may have requested the deletion of the account.
      if (user.deletionDueAt !== null) await users.update(tx, user.id, { deletionDueAt: null }, now())
    }
    if (user.newEmail !== null || user.newPhone !== null)
      await users.update(tx, user.id, { newEmail: null, newPhone: null, emailChangeConfirmStatus: 0 }, now())
    return this.#read(tx, user)
  }

  async #withIdentity(tx: Tx, user: User, kind: Kind): Promise<User> {
    const value = user[kind]
    const hasOne = user.identities.some(({ provider }) => provider !== otherThan(kind))
    if (hasOne || value === null) return user
    await this.#confirmations.putAddressIdentity(tx, user, { kind, value })
    return this.#read(tx, user)
  }

  async #read(tx: Tx, user: User): Promise<User> {
    return (await this.deps.users.findById(tx, user.id)) ?? user
  }
}

const KINDS = ['email', 'phone'] as const

const otherThan = (kind: Kind): Kind => (kind === 'email' ? 'phone' : 'email')

/** The password that an administrator gave to an account. If there is none, the account keeps its password. */
const passwordOf = (administrators: PendingSignUp | null): { passwordHash?: string } =>
  administrators?.passwordHash == null ? {} : { passwordHash: administrators.passwordHash }

/**
 * The metadata that administrators entered. Other metadata may have come from a stranger, through a provider. The size limit was checked
 * together with `app_metadata`, so `app_metadata` counts here too.
 */
const saidBy = (
  administrators: PendingSignUp | null,
  { appMetadata }: Pick<User, 'appMetadata'>,
): JsonObject =>
  StorableMetadata.fitting({ userMetadata: {}, appMetadata }, administrators?.userMetadata ?? {}).userMetadata

function refuseVouched(user: User, administrators: PendingSignUp | null): void {
  if (user.email !== null && isVouched(administrators, 'email'))
    throw authError('unprocessable', 'email_not_confirmed', 'Please verify your email first.')
  if (user.phone !== null && isVouched(administrators, 'phone'))
    throw authError('unprocessable', 'phone_not_confirmed', 'Please verify your phone first.')
}

/** Restarts the transaction if someone else got the address, by a sign-up or otherwise, after this transaction freed it. */
function restartIfTaken(error: unknown): never {
  throw isUniqueViolation(error) ? new RestartError() : error
}

const hasForeignIdentity = (user: User, exceptId: string | null): boolean =>
  user.identities.some(({ id, provider }) => provider !== 'email' && provider !== 'phone' && id !== exceptId)
