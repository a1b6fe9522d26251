import { type Tx } from '@signet/db'
import { type OneTimeTokenStore } from '../../one-time-tokens/one-time-token-store.js'
import { type SessionStore } from '../../sessions/session-store.js'
import { type IdentityStore } from '../../users/identity-store.js'
import { withFitting } from '../../users/metadata-limit.js'
import { type UserStore } from '../../users/user-store.js'
import { providersOf, type JsonObject, type User } from '../../users/user.js'
import { normaliseEmail } from '../../addresses/email.js'
import { identityData } from '../identity-data.js'
import { type ProviderProfile } from '../provider.js'

/** An account at a provider, as it is to become, or is, an identity here. */
export type External = { provider: string; profile: ProviderProfile }

type Deps = {
  users: UserStore
  identities: IdentityStore
  tokens: OneTimeTokenStore
  sessions: SessionStore
  now: () => Date
}

/** Writes what a provider says about a user. All methods want the user's row locked, and return the user as it is then. */
export class ExternalIdentities {
  constructor(private readonly deps: Deps) {}

  async add(
    tx: Tx,
    user: User,
    { provider, profile }: External,
  ): Promise<{ user: User; identityId: string }> {
    const { identities, now } = this.deps
    const data = identityData(profile)
    const identity = { userId: user.id, provider, providerId: profile.subject, identityData: data }
    const identityId = await identities.insert(tx, identity, now())
    return { user: await this.#refresh(tx, user, withFitting(user, data)), identityId }
  }

  async update(tx: Tx, user: User, identityId: string, { profile }: External): Promise<User> {
    const { identities, now } = this.deps
    const data = identityData(profile)
    await identities.signIn(tx, identityId, data, now())
    return this.#refresh(tx, user, withFitting(user, data))
  }

  /**
   * Takes an account out of the hands of whoever made it with an address that they never proved: everything that could
   * still let them in goes, and so does what they wrote into it (contract 8.3 rule 5), apart from `trusted`.
   */
  async keepOnly(
    tx: Tx,
    user: User,
    identityId: string,
    { profile }: External,
    trusted: JsonObject = {},
  ): Promise<User> {
    const { users, identities, tokens, sessions, now } = this.deps
    const isShared = user.passwordHash !== null || user.identities.some(({ id }) => id !== identityId)
    if (isShared) {
      await identities.removeOthers(tx, user.id, identityId)
      await tokens.removeAll(tx, user.id)
      await sessions.removeAll(tx, user.id)
      await users.removeFactors(tx, user.id)
      await users.update(tx, user.id, { passwordHash: null, phone: null, phoneConfirmedAt: null }, now())
    }
    const kept = { userMetadata: trusted, appMetadata: user.appMetadata }
    return this.#refresh(tx, user, withFitting(kept, identityData(profile)))
  }

  async #refresh(tx: Tx, user: User, userMetadata: JsonObject): Promise<User> {
    const { users, now } = this.deps
    const { identities } = (await users.findById(tx, user.id)) ?? user
    const appMetadata = { ...user.appMetadata, ...providersOf(identities) }
    await users.update(tx, user.id, { userMetadata, appMetadata }, now())
    return (await users.findById(tx, user.id)) ?? user
  }
}

/** The profile with addresses in the form that is stored and compared; what can be no address here is left out. */
export function withUsableEmails(profile: ProviderProfile): ProviderProfile {
  const emails = profile.emails.flatMap((entry) => {
    try {
      return [{ ...entry, email: normaliseEmail(entry.email) }]
    } catch {
      return []
    }
  })
  return { ...profile, emails }
}
