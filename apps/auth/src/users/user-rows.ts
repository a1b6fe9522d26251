import type { Address } from '../addresses/address.js'
import type { Tables } from '../database/tables.js'
import { StoredTime } from './stored-time.js'
import type { Factor, Identity, JsonObject, User } from './user.js'

/**
 * The user `u` with identities and factors as one JSON value, named `account`; read with {@link toUser}. One value
 * instead of thirty columns halves the client-side cost of a row: the driver parses each column separately, but JSON
 * in one go.
 */
export const accountColumn = (t: Tables): string => `
  (select row_to_json(a) from (
    select u.id, u.aud, u.role, u.email, u.phone, u.encrypted_password, u.email_confirmed_at, u.phone_confirmed_at,
      u.invited_at, u.confirmation_sent_at, u.recovery_sent_at, u.email_change, u.email_change_sent_at,
      u.email_change_confirm_status, u.phone_change, u.phone_change_sent_at, u.reauthentication_sent_at,
      u.last_sign_in_at, u.app_metadata, u.user_metadata, u.is_anonymous, u.is_sso_user, u.banned_until, u.deleted_at,
      u.deletion_due_at,
      u.created_at, u.updated_at,
      (select json_agg(i order by i.created_at, i.provider, i.id) from (
         select id, user_id, provider, provider_id, identity_data, email, last_sign_in_at, created_at, updated_at
         from ${t.identities} where user_id = u.id) i) as identities,
      (select json_agg(f order by f.created_at, f.id) from (
         select id, friendly_name, factor_type, status, phone, last_challenged_at, created_at, updated_at
         from ${t.mfaFactors} where user_id = u.id) f) as factors
  ) a) as account`

/**
 * The password hash of an unproven sign-up with this address: the newest of this client, so that sign-ups of others cannot hide it,
 * otherwise the newest of all. It signs nobody in. It only decides whether the answer is "confirm your address first", which has to be the
 * same whether or not the address has an account. Otherwise, anyone could find that out by signing up and then trying to sign in.
 */
export const pendingHash = (
  t: Tables,
  kind: Address['kind'],
  { userId, address, client }: Record<'userId' | 'address' | 'client', string>,
): string => `
  (select s.password_hash from (
     select password_hash, requested_by, created_at, id from ${t.pendingSignUps}
     where user_id = ${userId} and password_hash is not null and coalesce(address_kind, '${kind}') = '${kind}'
     union all
     select password_hash, requested_by, created_at, id from ${t.repeatedSignUps} where address = ${address}::bytea) s
   order by s.requested_by is not distinct from ${client}::bytea desc, s.created_at desc, s.id desc limit 1)`

/** A row of a query that selects {@link accountColumn}. Times inside JSON are text. */
export type AccountRow = { account: AccountJson }

type AccountJson = {
  id: string
  aud: string
  role: string
  email: string | null
  phone: string | null
  encrypted_password: string | null
  email_confirmed_at: string | null
  phone_confirmed_at: string | null
  invited_at: string | null
  confirmation_sent_at: string | null
  recovery_sent_at: string | null
  email_change: string | null
  email_change_sent_at: string | null
  email_change_confirm_status: User['emailChangeConfirmStatus']
  phone_change: string | null
  phone_change_sent_at: string | null
  reauthentication_sent_at: string | null
  last_sign_in_at: string | null
  app_metadata: JsonObject
  user_metadata: JsonObject
  is_anonymous: boolean
  is_sso_user: boolean
  banned_until: string | null
  deleted_at: string | null
  deletion_due_at: string | null
  created_at: string
  updated_at: string
  identities: IdentityJson[] | null
  factors: FactorJson[] | null
}

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

export function toUser({ account }: AccountRow): User {
  return {
    id: account.id,
    aud: account.aud,
    role: account.role,
    email: account.email,
    phone: account.phone,
    passwordHash: account.encrypted_password,
    emailConfirmedAt: toDate(account.email_confirmed_at),
    phoneConfirmedAt: toDate(account.phone_confirmed_at),
    invitedAt: toDate(account.invited_at),
    confirmationSentAt: toDate(account.confirmation_sent_at),
    recoverySentAt: toDate(account.recovery_sent_at),
    newEmail: account.email_change,
    emailChangeSentAt: toDate(account.email_change_sent_at),
    emailChangeConfirmStatus: account.email_change_confirm_status,
    newPhone: account.phone_change,
    phoneChangeSentAt: toDate(account.phone_change_sent_at),
    reauthenticationSentAt: toDate(account.reauthentication_sent_at),
    lastSignInAt: toDate(account.last_sign_in_at),
    appMetadata: account.app_metadata,
    userMetadata: account.user_metadata,
    isAnonymous: account.is_anonymous,
    isSsoUser: account.is_sso_user,
    bannedUntil: toDate(account.banned_until),
    deletedAt: toDate(account.deleted_at),
    deletionDueAt: toDate(account.deletion_due_at),
    createdAt: new StoredTime(account.created_at),
    updatedAt: new StoredTime(account.updated_at),
    identities: (account.identities ?? []).map(toIdentity),
    factors: (account.factors ?? []).map(toFactor),
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
    createdAt: new StoredTime(json.created_at),
    updatedAt: new StoredTime(json.updated_at),
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
    createdAt: new StoredTime(json.created_at),
    updatedAt: new StoredTime(json.updated_at),
  }
}

// An operator may ban a user until `infinity`, which JavaScript cannot represent. This is the latest time of RFC 3339.
const END_OF_TIME = '9999-12-31T23:59:59.999Z'

function toDate(text: string | null): Date | null {
  if (text === null) return null
  return text === 'infinity' ? new Date(END_OF_TIME) : new StoredTime(text)
}
