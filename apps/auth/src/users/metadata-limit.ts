import { invalid } from '../errors/auth-error.js'
import { type JsonObject } from './user.js'

/**
 * Both kinds of metadata travel in every access token, and a request whose headers take more than 16 KiB is refused
 * before anybody reads it: its sender would be locked out with a valid token in hand.
 */
const MAX_BYTES = 8 * 1024

type Metadata = { readonly userMetadata?: JsonObject; readonly appMetadata?: JsonObject }

/** Refuses metadata that no token could carry. What is too large already (`before`) may still shrink. */
export function refuseLargeMetadata(after: Metadata, before: Metadata = {}): void {
  const bytes = bytesOf(after)
  if (bytes <= MAX_BYTES || bytes <= bytesOf(before)) return
  throw invalid(
    `user_metadata and app_metadata are ${bytes} bytes of JSON together; at most ${MAX_BYTES} fit into access tokens`,
  )
}

const bytesOf = ({ userMetadata = {}, appMetadata = {} }: Metadata): number =>
  Buffer.byteLength(JSON.stringify(userMetadata)) + Buffer.byteLength(JSON.stringify(appMetadata))
