import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { IdentityStore } from '../users/identity-store.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import { newAddressUser } from './new-user.js'

type Deps = { users: UserStore; identities: IdentityStore; role: string; now: () => Date }

type Wanted = { address: Address; aud: string }

/** The clean-up may remove an unproven user first, but not again and again. */
const MAX_RACES = 5

/** Creates users for addresses, one per address. */
export class UserFactory {
  constructor(private readonly deps: Deps) {}

  /** Returns the user of the address, locked, and whether this call inserted it. */
  async findOrInsert(tx: Tx, wanted: Wanted): Promise<{ user: User; isNew: boolean }> {
    const { users } = this.deps
    for (let race = 1; race <= MAX_RACES; race += 1) {
      const known = await users.lockByAddress(tx, wanted.address)
      const insertedId = known === null ? await this.#insert(tx, wanted) : null
      // If two calls run concurrently, one inserts; the other waits for it and finds the user.
      const user = known ?? (await users.lockByAddress(tx, wanted.address))
      if (user !== null) return { user, isNew: insertedId !== null }
    }
    throw new Error('the user of an address was deleted again and again')
  }

  async #insert(tx: Tx, wanted: Wanted): Promise<string | null> {
    const { users, identities, role, now } = this.deps
    const { user, identityData } = newAddressUser({ ...wanted, role })
    if (!(await users.insert(tx, user, now()))) return null
    const identity = { userId: user.id, provider: wanted.address.kind, providerId: user.id, identityData }
    await identities.insert(tx, identity, now())
    return user.id
  }
}
