import { type Tx } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { type IdentityStore } from '../users/identity-store.js'
import { type UserStore } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'
import { newAddressUser } from './new-user.js'

type Deps = { users: UserStore; identities: IdentityStore; role: string; now: () => Date }

/** Makes users of addresses, once for each address. */
export class UserFactory {
  constructor(private readonly deps: Deps) {}

  /** The user of the address, locked, and whether this call made it. Data and password go into a new user only. */
  async findOrInsert(
    tx: Tx,
    input: { address: Address; aud: string; passwordHash: string | null; data: JsonObject },
  ): Promise<{ user: User; isNew: boolean }> {
    const { users, identities, role, now } = this.deps
    const { address, aud } = input
    const fresh = newAddressUser({ ...input, role })
    const find = () =>
      address.kind === 'email'
        ? users.findByEmail(tx, address.value, aud)
        : users.findByPhone(tx, address.value, aud)
    const known = await find()
    // Of two at the same time one inserts; the other one waits for it and finds the user.
    const isNew = known === null && (await users.insert(tx, fresh.user, now()))
    if (isNew) {
      const { id: userId } = fresh.user
      await identities.insert(
        tx,
        { userId, provider: address.kind, providerId: userId, identityData: fresh.identityData },
        now(),
      )
    }
    const id = isNew ? fresh.user.id : (known ?? (await find()))?.id
    const user = id === undefined ? null : await users.lockById(tx, id)
    if (user === null) throw new Error('the user was deleted meanwhile')
    return { user, isNew }
  }
}
