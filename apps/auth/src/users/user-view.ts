import type { Factor, Identity, User } from './user.js'

/**
 * The user as the API shows it (docs/specification.md#shapes). Everything that leaves the server is listed here, so a new column cannot
 * leak by itself. Undefined members are left out of the JSON.
 */
export function userView(user: User) {
  return {
    id: user.id,
    aud: user.aud,
    role: user.role,
    email: user.email ?? '',
    phone: user.phone ?? '',
    email_confirmed_at: time(user.emailConfirmedAt),
    phone_confirmed_at: time(user.phoneConfirmedAt),
    confirmed_at: time(earlier(user.emailConfirmedAt, user.phoneConfirmedAt)),
    invited_at: time(user.invitedAt),
    confirmation_sent_at: time(user.confirmationSentAt),
    recovery_sent_at: time(user.recoverySentAt),
    new_email: user.newEmail ?? undefined,
    email_change_sent_at: user.newEmail === null ? undefined : time(user.emailChangeSentAt),
    new_phone: user.newPhone ?? undefined,
    phone_change_sent_at: user.newPhone === null ? undefined : time(user.phoneChangeSentAt),
    reauthentication_sent_at: time(user.reauthenticationSentAt),
    last_sign_in_at: time(user.lastSignInAt),
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: user.identities.map(identityView),
    factors: user.factors.length === 0 ? undefined : user.factors.map(factorView),
    created_at: time(user.createdAt),
    updated_at: time(user.updatedAt),
    banned_until: time(user.bannedUntil),
    deleted_at: time(user.deletedAt),
    deletion_due_at: time(user.deletionDueAt),
    is_anonymous: user.isAnonymous,
  }
}

function identityView(identity: Identity) {
  return {
    identity_id: identity.id,
    id: identity.providerId,
    user_id: identity.userId,
    identity_data: identity.identityData,
    provider: identity.provider,
    last_sign_in_at: time(identity.lastSignInAt),
    created_at: time(identity.createdAt),
    updated_at: time(identity.updatedAt),
    email: identity.email ?? undefined,
  }
}

export function factorView(factor: Factor) {
  return {
    id: factor.id,
    friendly_name: factor.friendlyName === '' ? undefined : factor.friendlyName,
    factor_type: factor.factorType,
    status: factor.status,
    phone: factor.phone ?? '',
    last_challenged_at: time(factor.lastChallengedAt) ?? null,
    created_at: time(factor.createdAt),
    updated_at: time(factor.updatedAt),
  }
}

const time = (date: Date | null): string | undefined => date?.toISOString()

function earlier(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
