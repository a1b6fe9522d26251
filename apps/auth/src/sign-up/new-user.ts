import { randomUUID } from 'node:crypto'
import type { Address } from '../addresses/address.js'
import { identityClaims } from '../users/identity-claims.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { NewUser } from '../users/user-store.js'
import type { JsonObject } from '../users/user.js'

/** A user with an address that nobody has proven yet, and the identity that belongs to it. */
export function newAddressUser(input: { address: Address; aud: string; role: string }): {
  user: NewUser
  identityData: JsonObject
} {
  const id = randomUUID()
  const { kind, value } = input.address
  const addresses = { email: kind === 'email' ? value : null, phone: kind === 'phone' ? value : null }
  return {
    user: {
      id,
      aud: input.aud,
      role: input.role,
      ...addresses,
      passwordHash: null,
      metadata: StorableMetadata.ofNew(kind),
      isAnonymous: false,
    },
    identityData: identityClaims({ id, ...addresses }, kind),
  }
}
