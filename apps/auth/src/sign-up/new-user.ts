import { randomUUID } from 'node:crypto'
import { type Address } from '../addresses/address.js'
import { type NewUser } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'

/** A user who signs up with an address, and the identity that belongs to it (contract 1.4 step 4). */
export function newAddressUser(input: {
  address: Address
  aud: string
  role: string
  passwordHash: string | null
  data: JsonObject
}): { user: NewUser; identityData: JsonObject } {
  const id = randomUUID()
  const { kind, value } = input.address
  const claims = { sub: id, [kind]: value, email_verified: false, phone_verified: false }
  return {
    user: {
      id,
      aud: input.aud,
      role: input.role,
      email: kind === 'email' ? value : null,
      phone: kind === 'phone' ? value : null,
      passwordHash: input.passwordHash,
      appMetadata: { provider: kind, providers: [kind] },
      userMetadata: { ...input.data, ...claims },
      isAnonymous: false,
    },
    identityData: claims,
  }
}

/**
 * What a repeated sign-up is answered with (contract 1.4 step 2): it looks like a new user, belongs to nobody, and is
 * another one each time.
 */
export function pretendedUser(address: Address, aud: string, data: JsonObject, now: Date): User {
  return {
    id: randomUUID(),
    aud,
    role: '',
    email: address.kind === 'email' ? address.value : null,
    phone: address.kind === 'phone' ? address.value : null,
    passwordHash: null,
    emailConfirmedAt: null,
    phoneConfirmedAt: null,
    invitedAt: null,
    confirmationSentAt: now,
    recoverySentAt: null,
    newEmail: null,
    emailChangeSentAt: null,
    emailChangeConfirmStatus: 0,
    newPhone: null,
    phoneChangeSentAt: null,
    reauthenticationSentAt: null,
    lastSignInAt: null,
    appMetadata: { provider: address.kind, providers: [address.kind] },
    userMetadata: data,
    isAnonymous: false,
    isSsoUser: false,
    bannedUntil: null,
    deletedAt: null,
    createdAt: now,
    updatedAt: now,
    identities: [],
    factors: [],
  }
}
