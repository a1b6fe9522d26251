import { isUniqueViolation, type Tx } from '@signet/db'
import { providerLabel } from '@signet/pages'
import { type Audit } from '../../audit/audit-log.js'
import { authError, invalid, userBanned } from '../../errors/auth-error.js'
import { type OneTimeTokenStore } from '../../one-time-tokens/one-time-token-store.js'
import { type Confirmations } from '../../users/confirmations.js'
import { type IdentityStore } from '../../users/identity-store.js'
import { type UserStore } from '../../users/user-store.js'
import { isBanned, type User } from '../../users/user.js'
import { candidateEmail } from '../identity-data.js'
import { type Entered } from './account-linking.js'
import { type ConfirmationRequests } from './confirmation-requests.js'
import { type External, type ExternalIdentities } from './external-identities.js'
import { type Invitations } from './invitations.js'

type Deps = {
  users: UserStore
  identities: IdentityStore
  tokens: OneTimeTokenStore
  externals: ExternalIdentities
  invitations: Invitations
  confirmations: Confirmations
  requests: ConfirmationRequests
  now: () => Date
}

/** Accounts at a provider for a user who is known beforehand (contract 8.3 rules 8 and 9). */
export class TargetedLinking {
  constructor(private readonly deps: Deps) {}

  /** Rule 8: a signed-in user adds a way to sign in. */
  async link(tx: Tx, audit: Audit, external: External, userId: string): Promise<Entered> {
    const { users, externals } = this.deps
    const target = await users.lockById(tx, userId)
    if (target === null) throw authError('forbidden', 'user_not_found', 'The user to link to does not exist')
    if (isBanned(target, this.deps.now())) throw userBanned('forbidden')
    await this.#refuseKnown(tx, external, target.id)
    const { user, identityId } = await externals.add(tx, target, external)
    audit('identity_linked', user, { provider: external.provider, identity_id: identityId })
    const email = candidateEmail(external.profile)
    if (user.email !== null || email === undefined)
      return { user: await this.#settle(tx, user), linked: true, refusal: null, confirmation: null }
    return this.#adoptEmail(tx, audit, user, external, email)
  }

  /** Rule 9: the link of an invitation led to a provider. */
  async acceptInvite(tx: Tx, audit: Audit, external: External, inviteTokenHash: Buffer): Promise<Entered> {
    const { users, tokens, externals, invitations, confirmations } = this.deps
    const found = await invitations.find(tx, inviteTokenHash)
    const invited = found && (await users.lockById(tx, found.userId))
    // Looked up again under the lock: an invitation is accepted once.
    const token = found && (await tokens.find(tx, found.id))
    if (!invited || !token) throw authError('not_found', 'invite_not_found', 'Invite not found')
    if (isBanned(invited, this.deps.now())) throw userBanned('forbidden')
    if (!external.profile.emails.some(({ email }) => email === invited.email))
      throw invalid('Invited email does not match emails from external provider')
    await this.#refuseKnown(tx, external, invited.id)
    const { user, identityId } = await externals.add(tx, invited, external)
    // Without a password nobody but the administrator can have written what is there.
    const trusted = invited.passwordHash === null ? invited.userMetadata : {}
    const alone = await externals.keepOnly(tx, user, identityId, external, trusted)
    await tokens.removeAll(tx, user.id)
    audit('invite_accepted', user, { provider: external.provider })
    return {
      user: await confirmations.confirmEmail(tx, alone),
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

  async #adoptEmail(
    tx: Tx,
    audit: Audit,
    user: User,
    { provider }: External,
    { email, verified }: { email: string; verified: boolean },
  ): Promise<Entered> {
    const { users, confirmations, requests, now } = this.deps
    await users.update(tx, user.id, { email }, now()).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw authError(
        'unprocessable',
        'email_exists',
        'A user with this email address has already been registered',
      )
    })
    const adopted = { ...user, email }
    if (verified)
      return {
        user: await confirmations.confirmEmail(tx, adopted),
        linked: true,
        refusal: null,
        confirmation: null,
      }
    const confirmation = await requests.issue(tx, audit, adopted, provider)
    const name = providerLabel(provider)
    const refusal = authError(
      'unprocessable',
      'email_not_confirmed',
      `Unverified email with ${name}. A confirmation email has been sent to your ${name} email`,
    )
    return { user: adopted, linked: true, refusal, confirmation }
  }

  /** With a way to sign in again, nobody is anonymous any more. */
  async #settle(tx: Tx, user: User): Promise<User> {
    if (!user.isAnonymous) return user
    await this.deps.users.update(tx, user.id, { isAnonymous: false }, this.deps.now())
    return { ...user, isAnonymous: false }
  }
}
