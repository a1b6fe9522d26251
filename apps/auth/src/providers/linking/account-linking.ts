import { randomUUID } from 'node:crypto'
import type { Queryable, Tx } from '@signet/db'
import type { AppError } from '@signet/errors'
import { providerLabel } from '@signet/pages/provider-label'
import type { Audit } from '../../audit/audit-log.js'
import { authError, userBanned } from '../../errors/auth-error.js'
import type { AddressProofs } from '../../proofs/address-proofs.js'
import type { IdentityStore } from '../../users/identity-store.js'
import { StorableMetadata } from '../../users/storable-metadata.js'
import type { UserStore } from '../../users/user-store.js'
import { isBanned, type User } from '../../users/user.js'
import { candidateEmail, identityData } from '../model/identity-data.js'
import type { ConfirmationRequests, PendingConfirmation } from './confirmation-requests.js'
import type { External, ExternalIdentities } from './external-identities.js'

export type LinkingRules = {
  /** Whether the address of a new account counts as proven. */
  readonly autoconfirm: boolean
  readonly allowUnverified: boolean
  readonly disableSignup: boolean
  /** Role of new users. */
  readonly role: string
}

/** The user who signed in. An error is thrown after the commit, because the user stays and an email may be on its way. */
export type Entered = {
  user: User
  /** Whether an identity was added to a user who had others. */
  linked: boolean
  refusal: AppError | null
  confirmation: PendingConfirmation | null
}

type Deps = {
  users: UserStore
  identities: IdentityStore
  externals: ExternalIdentities
  proofs: AddressProofs
  requests: ConfirmationRequests
  rules: LinkingRules
  now: () => Date
}

/** Another request inserted the same user or identity at the same time, so the whole transaction has to run again. */
export class RacedError extends Error {}

/** Finds the user of an account at a provider, or creates one (decision 0045). */
export class AccountLinking {
  constructor(private readonly deps: Deps) {}

  /**
   * The address that has to be confirmed before this person may sign in; null if there is none. Whether another account has the address
   * makes no difference, because the answer must not reveal that. It is also null for people who return and may sign in unconfirmed. Their
   * account has its email already, or they are asked to confirm it again after the interval.
   */
  async unprovedAddress(db: Queryable, external: External): Promise<string | null> {
    const { users, identities, rules } = this.deps
    const candidate = candidateEmail(external.profile)
    if (candidate === undefined || candidate.verified) return null
    const known = await identities.find(db, external.provider, external.profile.subject)
    if (known === null) {
      // A verified address of the identity may belong to an existing account.
      const isNew = (await this.#holder(db, external)) === null
      return !isNew || rules.autoconfirm || rules.disableSignup ? null : candidate.email
    }
    const user = await users.findById(db, known.userId)
    if (user === null || rules.allowUnverified || !hasNoOwner(user, external)) return null
    return user.email ?? candidate.email
  }

  async enter(tx: Tx, audit: Audit, external: External, aud: string): Promise<Entered> {
    const { users, identities } = this.deps
    const { provider, profile } = external
    const known = await identities.find(tx, provider, profile.subject)
    if (known) {
      const user = await users.lockById(tx, known.userId)
      // After a soft deletion, user and identity still exist but belong to nobody.
      const isGone = user === null || user.deletedAt !== null
      if (isGone || !user.identities.some(({ id }) => id === known.id))
        throw new RacedError('the user or the identity was deleted meanwhile')
      return this.#returnTo(tx, audit, user, { identityId: known.id, aud }, external)
    }
    const owner = await this.#holder(tx, external)
    return owner === null
      ? this.#create(tx, audit, external, aud)
      : this.#linkTo(tx, audit, { ownerId: owner, aud }, external)
  }

  /** A known identity signs its user in, no matter which addresses the provider reports now. */
  async #returnTo(
    tx: Tx,
    audit: Audit,
    user: User,
    { identityId, aud }: { identityId: string; aud: string },
    external: External,
  ): Promise<Entered> {
    this.#refuseBanned(user)
    const updated = await this.deps.externals.update(tx, user, identityId, external)
    return this.#admit(tx, audit, updated, external, { identityId, aud, isNew: false, linked: false })
  }

  /** Links the identity to the one user who has one of its verified addresses. */
  async #linkTo(
    tx: Tx,
    audit: Audit,
    { ownerId, aud }: { ownerId: string; aud: string },
    external: External,
  ): Promise<Entered> {
    const { users, externals } = this.deps
    const owner = await users.lockById(tx, ownerId)
    if (owner === null || (await this.#holder(tx, external)) !== ownerId)
      throw new RacedError('the user was deleted, or lost the address, meanwhile')
    this.#refuseBanned(owner)
    const { user, identityId } = await externals.add(tx, owner, external)
    audit('identity_linked', user, { provider: external.provider, identity_id: identityId })
    return this.#admit(tx, audit, user, external, { identityId, aud, isNew: false, linked: true })
  }

  /** Creates a user for an identity if no account has any of its verified addresses. */
  async #create(tx: Tx, audit: Audit, external: External, aud: string): Promise<Entered> {
    const { users, externals, rules, now } = this.deps
    if (rules.disableSignup)
      throw authError('unprocessable', 'signup_disabled', 'Signups not allowed for this instance')
    const candidate = candidateEmail(external.profile)
    const isTaken = candidate !== undefined && (await users.findByEmail(tx, candidate.email)) !== null
    // This person proved the address, so if an account claims it by now, they have to sign in to that account instead.
    if (isTaken && candidate.verified) throw new RacedError('the address was taken in the meantime')
    const id = randomUUID()
    const inserted = await users.insert(
      tx,
      {
        id,
        aud,
        role: rules.role,
        email: isTaken ? null : (candidate?.email ?? null),
        phone: null,
        passwordHash: null,
        metadata: StorableMetadata.none,
        isAnonymous: false,
      },
      now(),
    )
    const fresh = inserted ? await users.lockById(tx, id) : null
    if (fresh === null) throw new RacedError('the address was taken in the meantime')
    const { user, identityId } = await externals.add(tx, fresh, external)
    return this.#admit(tx, audit, user, external, { identityId, aud, isNew: true, linked: false })
  }

  /** Confirms the address if the provider verified it. Otherwise asks the user to confirm it. */
  async #admit(
    tx: Tx,
    audit: Audit,
    user: User,
    external: External,
    { identityId, aud, isNew, linked }: { identityId: string; aud: string; isNew: boolean; linked: boolean },
  ): Promise<Entered> {
    const { proofs, requests, rules } = this.deps
    const { provider } = external
    const isVouched = (isNew && rules.autoconfirm) || verifiedEmails(external).includes(user.email ?? '')
    if (isUnconfirmed(user) && isVouched) {
      audit('user_signedup', user, { provider })
      const data = identityData(external.profile)
      const isReturning = !isNew && !linked
      const confirmed = await proofs.proveByProvider(tx, user, { identityId, data, aud, isNew, isReturning })
      return { user: confirmed, linked, refusal: null, confirmation: null }
    }
    if (!hasNoOwner(user, external)) {
      if (isNew) audit('user_signedup', user, { provider })
      return { user, linked, refusal: null, confirmation: null }
    }
    const confirmation = await requests.issue(tx, audit, user, { ...external, identityId, aud })
    const refusal = rules.allowUnverified ? null : needsVerification(provider)
    return { user, linked, refusal, confirmation }
  }

  /**
   * The owner of a verified address of the identity. If there is none, an account that only claims one of these addresses, beginning with
   * the main one.
   */
  async #holder(db: Queryable, external: External): Promise<string | null> {
    const { users, identities } = this.deps
    const verified = verifiedEmails(external)
    if (verified.length === 0) return null
    const [owner, ...others] = await identities.ownersOfEmail(db, verified)
    if (others.length > 0)
      throw authError('internal', 'unexpected_failure', 'Multiple accounts with the same email address exist')
    if (owner !== undefined) return owner
    const main = candidateEmail(external.profile)?.email
    for (const email of [...verified].sort((a, b) => Number(b === main) - Number(a === main))) {
      const claimant = await users.findByEmail(db, email)
      if (claimant !== null) return claimant.id
    }
    return null
  }

  #refuseBanned(user: User): void {
    if (isBanned(user, this.deps.now())) throw userBanned('forbidden')
  }
}

/** Only these addresses find users, even if a new account's address counts as proven without verification. */
const verifiedEmails = ({ profile }: External): string[] =>
  profile.emails.filter(({ verified }) => verified).map(({ email }) => email)

const isUnconfirmed = (user: User): boolean => user.email !== null && user.emailConfirmedAt === null

/**
 * Whether nobody has proven that they own the account: none of its addresses is confirmed, and its provider vouches for none. An account
 * has no email if the provider reported one that belongs to someone else. A confirmed phone number is enough to have an owner.
 */
const hasNoOwner = (user: User, external: External): boolean =>
  user.phoneConfirmedAt === null &&
  (user.email === null
    ? external.profile.emails.length > 0 && verifiedEmails(external).length === 0
    : user.emailConfirmedAt === null)

/** The message is the same for all cases, because whether an email was sent depends on who else has the address. */
const needsVerification = (provider: string): AppError => {
  const name = providerLabel(provider)
  return authError(
    'unprocessable',
    'provider_email_needs_verification',
    `Unverified email with ${name}. Verify it with ${name}, or use the link in the confirmation email`,
  )
}
