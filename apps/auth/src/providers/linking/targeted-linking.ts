import type { Queryable, Tx } from '@signet/db'
import { providerLabel } from '@signet/pages/provider-label'
import type { Audit } from '../../audit/audit-log.js'
import { addressExists, authError, invalid, userBanned } from '../../errors/auth-error.js'
import type { OneTimeTokenStore } from '../../one-time-tokens/one-time-token-store.js'
import { requireStrong, type SessionGate } from '../../sessions/session-gate.js'
import type { AddressHolders } from '../../proofs/address-holders.js'
import type { AddressProofs } from '../../proofs/address-proofs.js'
import type { IdentityStore } from '../../users/identity-store.js'
import type { UserStore } from '../../users/user-store.js'
import { isBanned, type User } from '../../users/user.js'
import { candidateEmail, identityData } from '../model/identity-data.js'
import type { Entered } from './account-linking.js'
import type { ConfirmationRequests } from './confirmation-requests.js'
import type { External, ExternalIdentities } from './external-identities.js'
import type { Invitations } from './invitations.js'

type Deps = {
  gate: SessionGate
  users: UserStore
  identities: IdentityStore
  tokens: OneTimeTokenStore
  externals: ExternalIdentities
  holders: AddressHolders
  proofs: AddressProofs
  invitations: Invitations
  requests: ConfirmationRequests
  now: () => Date
}

/** Links provider accounts to a user known in advance (docs/specification.md#account-linking). */
export class TargetedLinking {
  constructor(private readonly deps: Deps) {}

  /** The address that the account would get if the person confirmed it. */
  async unprovedAddress(db: Queryable, { profile }: External, userId: string): Promise<string | null> {
    const candidate = candidateEmail(profile)
    if (candidate === undefined || candidate.verified) return null
    const user = await this.deps.users.findById(db, userId)
    return user?.email === null ? candidate.email : null
  }

  /** A signed-in user adds a sign-in method. */
  async link(
    tx: Tx,
    audit: Audit,
    external: External,
    who: { userId: string; sessionId: string },
  ): Promise<Entered> {
    const { gate, externals } = this.deps
    const held = await gate.hold(tx, who)
    requireStrong(held)
    const { user: target } = held
    await this.#refuseKnown(tx, external, target.id)
    const { user, identityId } = await externals.add(tx, target, external)
    audit('identity_linked', user, { provider: external.provider, identity_id: identityId })
    const email = candidateEmail(external.profile)
    if (user.email !== null || email === undefined)
      return { user: await this.#settle(tx, user), linked: true, refusal: null, confirmation: null }
    return email.verified
      ? {
          user: await this.deps.proofs.adoptFromProvider(tx, user, email.email),
          linked: true,
          refusal: null,
          confirmation: null,
        }
      : this.#askForEmail(tx, audit, user, external, email.email)
  }

  /** Accepts an invitation whose link led to a provider. */
  async acceptInvite(tx: Tx, audit: Audit, external: External, inviteTokenHash: Buffer): Promise<Entered> {
    const { users, tokens, externals, invitations, proofs } = this.deps
    const found = await invitations.find(tx, inviteTokenHash)
    const invited = found && (await users.lockById(tx, found.userId))
    // Looked up again under the lock: an invitation can be accepted only once.
    const token = found && (await tokens.find(tx, found.id))
    if (!invited || token?.sentTo.value !== invited.email)
      throw authError('not_found', 'invite_not_found', 'Invite not found')
    if (isBanned(invited, this.deps.now())) throw userBanned('forbidden')
    if (!external.profile.emails.some(({ email }) => email === invited.email))
      throw invalid('Invited email does not match emails from external provider')
    await this.#refuseKnown(tx, external, invited.id)
    const { user, identityId } = await externals.add(tx, invited, external)
    audit('invite_accepted', user, { provider: external.provider })
    const data = identityData(external.profile)
    const voucher = { identityId, data, aud: null, isNew: false, isReturning: false }
    const accepted = await proofs.proveByProvider(tx, user, voucher)
    await tokens.removeAll(tx, user.id)
    return {
      user: accepted,
      linked: false,
      refusal: null,
      confirmation: null,
    }
  }

  async #refuseKnown(tx: Tx, { provider, profile }: External, userId: string): Promise<void> {
    const known = await this.deps.identities.find(tx, provider, profile.subject)
    if (known === null) return
    throw authError(
      'unprocessable',
      'identity_already_exists',
      known.userId === userId ? 'Identity is already linked' : 'Identity is already linked to another user',
    )
  }

  /**
   * An address that the provider does not vouch for stays a pending change until it is confirmed. In the account, it would lock out its
   * real owner, or lead them into someone else's account.
   */
  async #askForEmail(tx: Tx, audit: Audit, user: User, external: External, email: string): Promise<Entered> {
    const { holders, requests } = this.deps
    if (await holders.isTaken(tx, { kind: 'email', value: email })) throw addressExists('email')
    const confirmation = await requests.issueChange(tx, audit, user, { ...external, email })
    const name = providerLabel(external.provider)
    const refusal = authError(
      'unprocessable',
      'email_not_confirmed',
      `Unverified email with ${name}. A confirmation email has been sent to your ${name} email`,
    )
    return { user, linked: true, refusal, confirmation }
  }

  /** A user with a sign-in method is no longer anonymous. */
  async #settle(tx: Tx, user: User): Promise<User> {
    if (!user.isAnonymous) return user
    await this.deps.users.update(tx, user.id, { isAnonymous: false }, this.deps.now())
    return { ...user, isAnonymous: false }
  }
}
