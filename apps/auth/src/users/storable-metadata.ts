import type { Address } from '../addresses/address.js'
import { invalid } from '../errors/auth-error.js'
import { mergeMetadata, type JsonObject } from './user.js'

/**
 * Every access token contains both kinds of metadata, and Node refuses requests with more than 16 KiB of headers. Without this limit, users
 * could be locked out with a valid token (decision 0034).
 */
export const MAX_BYTES = 8 * 1024

type Metadata = { readonly userMetadata: JsonObject; readonly appMetadata: JsonObject }

/**
 * Both kinds of metadata of an account, measured together. Accounts can only store metadata of this type, so nothing gets around the limit.
 */
export class StorableMetadata implements Metadata {
  static readonly none = new StorableMetadata({ userMetadata: {}, appMetadata: {} })

  readonly #both: Metadata

  private constructor({ userMetadata, appMetadata }: Metadata) {
    this.#both = { userMetadata, appMetadata }
  }

  get userMetadata(): JsonObject {
    return this.#both.userMetadata
  }

  get appMetadata(): JsonObject {
    return this.#both.appMetadata
  }

  /** Metadata of a new account with an address of this kind. */
  static ofNew(kind: Address['kind'], userMetadata: JsonObject = {}): StorableMetadata {
    return StorableMetadata.limited({ userMetadata, appMetadata: { provider: kind, providers: [kind] } })
  }

  /** Metadata from a caller. Throws if it is too large for a token, unless `before` was too large already and it shrinks. */
  static limited(after: Metadata, before: Metadata = StorableMetadata.none): StorableMetadata {
    const bytes = bytesOf(after)
    if (bytes <= MAX_BYTES || bytes <= bytesOf(before)) return new StorableMetadata(after)
    throw invalid(
      `user_metadata and app_metadata are ${bytes} bytes of JSON together; at most ${MAX_BYTES} fit into access tokens`,
    )
  }

  /** Applies the changes that a caller requests, within the limit. */
  static changed(
    before: Metadata,
    { userMetadata = {}, appMetadata = {} }: Partial<Metadata>,
  ): StorableMetadata {
    const after = {
      userMetadata: mergeMetadata(before.userMetadata, userMetadata),
      appMetadata: mergeMetadata(before.appMetadata, appMetadata),
    }
    return StorableMetadata.limited(after, before)
  }

  /**
   * Adds as many members as fit, the shortest first. For data that nobody could shorten if it were refused: from a provider, or from a
   * sign-up whose account has grown since. `identity_data` has the full profile.
   */
  static fitting(before: Metadata, data: JsonObject): StorableMetadata {
    const sizeOf = (value: unknown) => JSON.stringify(value).length
    const members = Object.entries(data).sort(([, a], [, b]) => sizeOf(a) - sizeOf(b))
    const { appMetadata } = before
    const userMetadata = members.reduce<JsonObject>((metadata, [name, value]) => {
      const grown = { ...metadata, [name]: value }
      const bytes = bytesOf({ appMetadata, userMetadata: grown })
      const fits = bytes <= MAX_BYTES || bytes <= bytesOf({ appMetadata, userMetadata: metadata })
      return fits ? grown : metadata
    }, before.userMetadata)
    return new StorableMetadata({ userMetadata, appMetadata })
  }

  /** Adds what the server states about the user, which is short and never left out. */
  static stated(before: Metadata, { userMetadata, appMetadata }: Partial<Metadata>): StorableMetadata {
    return new StorableMetadata({
      userMetadata: { ...before.userMetadata, ...userMetadata },
      appMetadata: { ...before.appMetadata, ...appMetadata },
    })
  }
}

const bytesOf = ({ userMetadata, appMetadata }: Metadata): number =>
  Buffer.byteLength(JSON.stringify(userMetadata)) + Buffer.byteLength(JSON.stringify(appMetadata))
