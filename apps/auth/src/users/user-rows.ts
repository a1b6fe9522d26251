import { type Tables } from '../tables.js'
import { type Factor, type Identity, type JsonObject, type User } from './user.js'

/** The columns of a user and its identities and factors, for `from users u`; read with {@link toUser}. */
export const userColumns = (t: Tables): string => `
  u.id, u.aud, u.role, u.email, u.phone, u.encrypted_password, u.email_confirmed_at, u.phone_confirmed_at,
  u.invited_at, u.confirmation_sent_at, u.recovery_sent_at, u.email_change, u.email_change_sent_at,
  u.email_change_confirm_status, u.phone_change, u.phone_change_sent_at, u.reauthentication_sent_at,
  u.last_sign_in_at, u.app_metadata, u.user_metadata, u.is_anonymous, u.is_sso_user, u.banned_until, u.deleted_at,
  u.created_at, u.updated_at,
  (select json_agg(json_build_object('id', i.id, 'user_id', i.user_id, 'provider', i.provider, 'provider_id',
    i.provider_id, 'identity_data', i.identity_data, 'email', i.email, 'last_sign_in_at', i.last_sign_in_at,
    'created_at', i.created_at, 'updated_at', i.updated_at) order by i.created_at, i.provider, i.id)
    from ${t.identities} i where i.user_id = u.id) as identities,
  (select json_agg(json_build_object('id', f.id, 'friendly_name', f.friendly_name, 'factor_type', f.factor_type,
    'status', f.status, 'phone', f.phone, 'last_challenged_at', f.last_challenged_at, 'created_at', f.created_at,
    'updated_at', f.updated_at) order by f.created_at, f.id)
    from ${t.mfaFactors} f where f.user_id = u.id) as factors`

export type UserRow = {
  id: string
  aud: string
  role: string
  email: string | null
  phone: string | null
  encrypted_password: string | null
  email_confirmed_at: Date | null
  phone_confirmed_at: Date | null
  invited_at: Date | null
  confirmation_sent_at: Date | null
  recovery_sent_at: Date | null
  email_change: string | null
  email_change_sent_at: Date | null
  email_change_confirm_status: number
  phone_change: string | null
  phone_change_sent_at: Date | null
  reauthentication_sent_at: Date | null
  last_sign_in_at: Date | null
  app_metadata: JsonObject
  user_metadata: JsonObject
  is_anonymous: boolean
  is_sso_user: boolean
  banned_until: Date | null
  deleted_at: Date | null
  created_at: Date
  updated_at: Date
  identities: IdentityJson[] | null
  factors: FactorJson[] | null
}

// Inside JSON PostgreSQL writes times as text.
type IdentityJson = {
  id: string
  user_id: string
  provider: string
  provider_id: string
  identity_data: JsonObject
  email: string | null
  last_sign_in_at: string | null
  created_at: string
  updated_at: string
}
type FactorJson = {
  id: string
  friendly_name: string
  factor_type: Factor['factorType']
  status: Factor['status']
  phone: string | null
  last_challenged_at: string | null
  created_at: string
  updated_at: string
}

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    aud: row.aud,
    role: row.role,
    email: row.email,
    phone: row.phone,
    passwordHash: row.encrypted_password,
    emailConfirmedAt: row.email_confirmed_at,
    phoneConfirmedAt: row.phone_confirmed_at,
    invitedAt: row.invited_at,
    confirmationSentAt: row.confirmation_sent_at,
    recoverySentAt: row.recovery_sent_at,
    newEmail: row.email_change,
    emailChangeSentAt: row.email_change_sent_at,
    emailChangeConfirmStatus: row.email_change_confirm_status === 1 ? 1 : 0,
    newPhone: row.phone_change,
    phoneChangeSentAt: row.phone_change_sent_at,
    reauthenticationSentAt: row.reauthentication_sent_at,
    lastSignInAt: row.last_sign_in_at,
    appMetadata: row.app_metadata,
    userMetadata: row.user_metadata,
    isAnonymous: row.is_anonymous,
    isSsoUser: row.is_sso_user,
    bannedUntil: row.banned_until,
    deletedAt: row.deleted_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    identities: (row.identities ?? []).map(toIdentity),
    factors: (row.factors ?? []).map(toFactor),
  }
}

function toIdentity(json: IdentityJson): Identity {
  return {
    id: json.id,
    userId: json.user_id,
    provider: json.provider,
    providerId: json.provider_id,
    identityData: json.identity_data,
    email: json.email,
    lastSignInAt: toDate(json.last_sign_in_at),
    createdAt: new Date(json.created_at),
    updatedAt: new Date(json.updated_at),
  }
}

function toFactor(json: FactorJson): Factor {
  return {
    id: json.id,
    friendlyName: json.friendly_name,
    factorType: json.factor_type,
    status: json.status,
    phone: json.phone,
    lastChallengedAt: toDate(json.last_challenged_at),
    createdAt: new Date(json.created_at),
    updatedAt: new Date(json.updated_at),
  }
}

const toDate = (text: string | null): Date | null => (text === null ? null : new Date(text))
