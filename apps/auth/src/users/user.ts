/** The longest role or audience that the database accepts. */
export const MAX_NAME_LENGTH = 255

export type JsonObject = Record<string, unknown>

/** A user with the data that every answer about one shows. `null` means none; JSON shows it as `""` or leaves it out. */
export type User = {
  readonly id: string
  readonly aud: string
  readonly role: string
  readonly email: string | null
  readonly phone: string | null
  readonly passwordHash: string | null
  readonly emailConfirmedAt: Date | null
  readonly phoneConfirmedAt: Date | null
  readonly invitedAt: Date | null
  readonly confirmationSentAt: Date | null
  readonly recoverySentAt: Date | null
  readonly newEmail: string | null
  readonly emailChangeSentAt: Date | null
  /** Which half of an email change is confirmed: 0 neither, 1 the new address, 2 the current one. */
  readonly emailChangeConfirmStatus: 0 | 1 | 2
  readonly newPhone: string | null
  readonly phoneChangeSentAt: Date | null
  readonly reauthenticationSentAt: Date | null
  readonly lastSignInAt: Date | null
  readonly appMetadata: JsonObject
  readonly userMetadata: JsonObject
  readonly isAnonymous: boolean
  readonly isSsoUser: boolean
  readonly bannedUntil: Date | null
  readonly deletedAt: Date | null
  /** When the account will be deleted, if its owner requested that. */
  readonly deletionDueAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Oldest first. */
  readonly identities: readonly Identity[]
  /** Oldest first. */
  readonly factors: readonly Factor[]
}

/** A way to sign in. `providerId` is the provider's subject; for `email` and `phone` it is the user's id. */
export type Identity = {
  readonly id: string
  readonly userId: string
  readonly provider: string
  readonly providerId: string
  readonly identityData: JsonObject
  readonly email: string | null
  readonly lastSignInAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The public part of a second factor; its secret stays in the factor store. */
export type Factor = {
  readonly id: string
  readonly friendlyName: string
  readonly factorType: 'totp' | 'phone' | 'webauthn'
  readonly status: 'verified' | 'unverified'
  readonly phone: string | null
  readonly lastChallengedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const isBanned = (user: User, now: Date): boolean =>
  user.bannedUntil !== null && user.bannedUntil > now

/** Whether someone has proven that they own one of the addresses, which makes the account theirs. */
export const isProven = (user: User): boolean =>
  user.emailConfirmedAt !== null || user.phoneConfirmedAt !== null

/** Whether a new address waits to be confirmed. */
export const hasPendingChange = ({ newEmail, newPhone }: User): boolean =>
  newEmail !== null || newPhone !== null

export const hasVerifiedFactor = (user: User): boolean =>
  user.factors.some(({ status }) => status === 'verified')

/** `{provider, providers}` of app_metadata: the provider of the oldest identity, and all of them by age (docs/specification.md#shapes). */
export function providersOf(identities: readonly Identity[]): { provider?: string; providers?: string[] } {
  const providers = [...new Set(identities.map(({ provider }) => provider))]
  return providers[0] === undefined ? {} : { provider: providers[0], providers }
}

/** Adds members and removes those whose new value is null (docs/specification.md#the-signed-in-user, `data`). */
export function mergeMetadata(current: JsonObject, changes: JsonObject): JsonObject {
  // Use entries instead of assignments, so that `__proto__` stays an ordinary member.
  const entries = new Map([...Object.entries(current), ...Object.entries(changes)])
  return Object.fromEntries([...entries].filter(([, value]) => value !== null))
}
