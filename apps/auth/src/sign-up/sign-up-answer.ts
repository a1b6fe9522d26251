import type { KeyObject } from 'node:crypto'
import type { Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { identityClaims } from '../users/identity-claims.js'
import type { JsonObject, User } from '../users/user.js'

/** The parts of the answer to an unconfirmed sign-up that do not come from the request. */
export type SignUpIds = { userId: string; identityId: string }

export type SignUpSubject = { address: Address; aud: string; role: string; data: JsonObject }

/**
 * The user in the answer to an unconfirmed sign-up. It is built only from the request and two ids, so it looks the same whether the address
 * is new, waits for confirmation or has an account.
 */
export function signUpAnswer(ids: SignUpIds, subject: SignUpSubject, now: Date): User {
  const { address, aud, role, data } = subject
  const { kind, value } = address
  const addresses = { email: kind === 'email' ? value : null, phone: kind === 'phone' ? value : null }
  const claims = identityClaims({ id: ids.userId, ...addresses }, kind)
  return {
    id: ids.userId,
    aud,
    role,
    ...addresses,
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
    appMetadata: { provider: kind, providers: [kind] },
    userMetadata: { ...data, ...claims },
    isAnonymous: false,
    isSsoUser: false,
    bannedUntil: null,
    deletedAt: null,
    deletionDueAt: null,
    createdAt: now,
    updatedAt: now,
    identities: [
      {
        id: ids.identityId,
        userId: ids.userId,
        provider: kind,
        providerId: ids.userId,
        identityData: claims,
        email: addresses.email,
        lastSignInAt: now,
        createdAt: now,
        updatedAt: now,
      },
    ],
    factors: [],
  }
}

/** Made-up ids for an address that has an account. They are the same each time. */
export function madeUpIds(key: KeyObject, address: Address): SignUpIds {
  const idOf = (what: string) => uuidOf(keyedHash(key, 'sign-up', what, address.kind, address.value))
  return { userId: idOf('user'), identityId: idOf('identity') }
}

/** An id in the form of RFC 9562 section 5.4, with bits that look as random as those of real ids. */
function uuidOf(bytes: Buffer): string {
  const id = Buffer.from(bytes.subarray(0, 16))
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x40
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
