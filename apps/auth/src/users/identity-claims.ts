import type { Address } from '../addresses/address.js'
import type { JsonObject, User } from './user.js'

/**
 * Members of `user_metadata` in which the server or a provider states who the user is. Users must not write them, because other services
 * trust them.
 */
const CLAIMS = new Set(['sub', 'iss', 'provider_id', 'email', 'email_verified', 'phone', 'phone_verified'])

/** The metadata that a user wants stored, without the members reserved for the server. */
export const withoutClaims = (data: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !CLAIMS.has(name)))

/** What the server states about a user who signed up with an address; confirmations are added later. */
export const identityClaims = (
  user: Pick<User, 'id' | 'email' | 'phone'>,
  kind: Address['kind'],
): JsonObject => ({
  sub: user.id,
  [kind]: user[kind],
  email_verified: false,
  phone_verified: false,
})
