import type { IdentitySession } from './identity-client.js'

/** A sign-in between password and second factor. `challengeId` is set once a code was sent to a phone. */
export type PendingSignIn = IdentitySession & {
  readonly accountId: string
  readonly factorId: string
  readonly challengeId: string | null
}
