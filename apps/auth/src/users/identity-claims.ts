import { type Address } from '../addresses/address.js'
import { type JsonObject, type User } from './user.js'

/**
 * Members of `user_metadata` that say who somebody is, as the server or a provider found out. They are not data:
 * whoever could write them would speak in the server's name.
 */
const CLAIMS = new Set(['sub', 'iss', 'provider_id', 'email', 'email_verified', 'phone', 'phone_verified'])

/** What somebody wants to be stored about them, without what only the server says. */
export const withoutClaims = (data: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !CLAIMS.has(name)))

/** What the server says about somebody who signed up with an address; which are confirmed is added later. */
export const identityClaims = (
  user: Pick<User, 'id' | 'email' | 'phone'>,
  kind: Address['kind'],
): JsonObject => ({
  sub: user.id,
  [kind]: user[kind],
  email_verified: false,
  phone_verified: false,
})
