import { invalid } from '../errors/auth-error.js'
import type { JsonObject } from './user.js'

/**
 * Every access token contains both kinds of metadata, and Node refuses requests with more than 16 KiB of headers: the
 * user would be locked out with a valid token (decision 0034).
 */
export const MAX_BYTES = 8 * 1024

type Metadata = { readonly userMetadata?: JsonObject; readonly appMetadata?: JsonObject }

/** Refuses metadata too large for a token. If it already is (`before`), it may still shrink. */
export function refuseLargeMetadata(after: Metadata, before: Metadata = {}): void {
  const bytes = bytesOf(after)
  if (bytes <= MAX_BYTES || bytes <= bytesOf(before)) return
  throw invalid(
    `user_metadata and app_metadata are ${bytes} bytes of JSON together; at most ${MAX_BYTES} fit into access tokens`,
  )
}

/**
 * The user's metadata with as much of a provider's profile as fits, shortest members first. Users cannot shorten what
 * a provider says, so nothing is refused; `identity_data` has the full profile.
 */
export function withFitting(user: Required<Metadata>, profile: JsonObject): JsonObject {
  const sizeOf = (value: unknown) => JSON.stringify(value).length
  const members = Object.entries(profile).sort(([, a], [, b]) => sizeOf(a) - sizeOf(b))
  return members.reduce<JsonObject>((metadata, [name, value]) => {
    const grown = { ...metadata, [name]: value }
    const bytes = bytesOf({ ...user, userMetadata: grown })
    const fits = bytes <= MAX_BYTES || bytes <= bytesOf({ ...user, userMetadata: metadata })
    return fits ? grown : metadata
  }, user.userMetadata)
}

const bytesOf = ({ userMetadata = {}, appMetadata = {} }: Metadata): number =>
  Buffer.byteLength(JSON.stringify(userMetadata)) + Buffer.byteLength(JSON.stringify(appMetadata))
