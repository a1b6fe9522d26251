import type { Tx } from '@signet/db'
import type { IdentityStore } from '../../users/identity-store.js'
import { StorableMetadata } from '../../users/storable-metadata.js'
import { refuseUnstorable } from '../../users/storable-text.js'
import type { UserStore } from '../../users/user-store.js'
import { providersOf, type JsonObject, type User } from '../../users/user.js'
import { normalizeEmail } from '../../addresses/email.js'
import type { Client } from '../../requests/request-meta.js'
import { identityData } from '../model/identity-data.js'
import type { ProviderProfile } from '../model/provider.js'

/** An account at a provider, which is or will be stored as an identity. `from` is the browser or program that brought it. */
export type External = { provider: string; profile: ProviderProfile; from: Client }

type Deps = {
  users: UserStore
  identities: IdentityStore
  now: () => Date
}

/**
 * Stores what a provider says about a user. All methods require the user's row to be locked, and return the updated
 * user.
 */
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
    return { user: await this.#refresh(tx, user, data), identityId }
  }

  async update(tx: Tx, user: User, identityId: string, { profile }: External): Promise<User> {
    const { identities, now } = this.deps
    const data = identityData(profile)
    await identities.signIn(tx, identityId, data, now())
    return this.#refresh(tx, user, data)
  }

  async #refresh(tx: Tx, user: User, data: JsonObject): Promise<User> {
    const { users, now } = this.deps
    const { identities } = (await users.findById(tx, user.id)) ?? user
    const metadata = StorableMetadata.stated(StorableMetadata.fitting(user, data), {
      appMetadata: providersOf(identities),
    })
    await users.update(tx, user.id, { metadata }, now())
    return (await users.findById(tx, user.id)) ?? user
  }
}

/**
 * The profile with normalized addresses; invalid ones are dropped. Throws `validation_failed` for text that the
 * database cannot store.
 */
export function withUsableEmails(profile: ProviderProfile): ProviderProfile {
  refuseUnstorable(profile)
  const emails = profile.emails.flatMap((entry) => {
    try {
      return [{ ...entry, email: normalizeEmail(entry.email) }]
    } catch {
      return []
    }
  })
  return { ...profile, emails }
}
