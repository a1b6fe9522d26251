import type { JsonObject } from '../../users/user.js'
import type { ProviderEmail, ProviderProfile } from './provider.js'

/**
 * The address that an account gets: the primary one or, if there is none, the last (docs/specification.md#identity-data). In lower case.
 */
export function candidateEmail({ emails }: ProviderProfile): ProviderEmail | undefined {
  const chosen = emails.find(({ primary }) => primary) ?? emails.at(-1)
  return chosen && { ...chosen, email: chosen.email.toLowerCase() }
}

/** `identity_data` of docs/specification.md#identity-data. Empty members are left out; the two flags are always there. */
export function identityData(profile: ProviderProfile): JsonObject {
  const { subject, data } = profile
  const email = candidateEmail(profile)
  const members = {
    ...data,
    full_name: data.full_name ?? data.name,
    avatar_url: data.picture,
    sub: subject,
    provider_id: subject,
    email: email?.email,
  }
  return {
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== '')),
    email_verified: email?.verified ?? false,
    phone_verified: false,
  }
}
