import type { JsonSchema } from '@signet/http'

const text: JsonSchema = { type: 'string' }
const uuid: JsonSchema = { type: 'string', format: 'uuid' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const flag: JsonSchema = { type: 'boolean' }
const count: JsonSchema = { type: 'integer' }
const anyObject: JsonSchema = { type: 'object' }
const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

/** An object of exactly these members; a name with `?` may be left out. */
function object(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const entries = Object.entries(members)
  return {
    type: 'object',
    additionalProperties: false,
    required: entries.map(([name]) => name).filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
  }
}

const userMembers = {
  id: uuid,
  aud: text,
  role: text,
  email: text,
  phone: text,
  'email_confirmed_at?': time,
  'phone_confirmed_at?': time,
  'confirmed_at?': time,
  'invited_at?': time,
  'confirmation_sent_at?': time,
  'recovery_sent_at?': time,
  'new_email?': text,
  'email_change_sent_at?': time,
  'new_phone?': text,
  'phone_change_sent_at?': time,
  'reauthentication_sent_at?': time,
  'last_sign_in_at?': time,
  app_metadata: anyObject,
  user_metadata: anyObject,
  identities: listOf(ref('Identity')),
  'factors?': listOf(ref('Factor')),
  created_at: time,
  updated_at: time,
  'banned_until?': time,
  'deleted_at?': time,
  is_anonymous: flag,
}

const sessionMembers = {
  access_token: text,
  token_type: { const: 'bearer' },
  expires_in: count,
  expires_at: count,
  refresh_token: text,
  user: ref('User'),
}

const error: JsonSchema = {
  description:
    'The first form without `X-Supabase-Api-Version: 2024-01-01` in the request, the second one with it.',
  anyOf: [
    object({
      code: count,
      error_code: text,
      msg: text,
      'error_id?': text,
      'weak_password?': ref('WeakPasswordReasons'),
    }),
    object({ code: text, message: text, 'weak_password?': ref('WeakPasswordReasons') }),
  ],
}

/**
 * Response schemas (docs/specification.md#shapes and docs/specification.md#errors); a test validates real answers
 * against them.
 */
export const schemas: Readonly<Record<string, JsonSchema>> = {
  Health: object({ version: text, name: text, description: text }),
  KeySet: object({ keys: listOf(anyObject) }),
  Settings: object({
    external: { type: 'object', additionalProperties: flag },
    disable_signup: flag,
    autoconfirm: flag,
    mailer_autoconfirm: flag,
    phone_autoconfirm: flag,
    sms_provider: text,
    saml_enabled: flag,
  }),
  User: object(userMembers),
  Identity: object({
    identity_id: uuid,
    id: text,
    user_id: uuid,
    identity_data: anyObject,
    provider: text,
    'last_sign_in_at?': time,
    created_at: time,
    updated_at: time,
    'email?': text,
  }),
  Factor: object({
    id: uuid,
    'friendly_name?': text,
    factor_type: { enum: ['totp', 'phone'] },
    status: { enum: ['verified', 'unverified'] },
    phone: text,
    last_challenged_at: { type: ['string', 'null'], format: 'date-time' },
    created_at: time,
    updated_at: time,
  }),
  FactorList: listOf(ref('Factor')),
  EnrolledFactor: object({
    id: uuid,
    type: { enum: ['totp', 'phone'] },
    'friendly_name?': text,
    'totp?': object({ qr_code: text, secret: text, uri: text }),
    'phone?': text,
  }),
  FactorChallenge: object({ id: uuid, type: { enum: ['totp', 'phone'] }, expires_at: count }),
  FactorId: object({ id: uuid }),
  ProviderUrl: object({ url: text }),
  Session: object({
    ...sessionMembers,
    'type?': text,
    'provider_token?': text,
    'provider_refresh_token?': text,
    'weak_password?': object({ reasons: listOf(text), message: text }),
  }),
  SignUp: {
    description:
      'A user who has to confirm the address, or a session with the main members of its user at the top level.',
    anyOf: [
      ref('User'),
      object({
        ...sessionMembers,
        id: uuid,
        email: text,
        phone: text,
        'confirmation_sent_at?': time,
        created_at: time,
        updated_at: time,
      }),
    ],
  },
  UserList: object({ users: listOf(ref('User')), aud: text }),
  GeneratedLink: object({
    ...userMembers,
    action_link: text,
    email_otp: text,
    hashed_token: text,
    verification_type: text,
    redirect_to: text,
  }),
  AuditEntryList: listOf(object({ id: uuid, payload: anyObject, created_at: time, ip_address: text })),
  WeakPasswordReasons: object({ reasons: listOf({ enum: ['length', 'characters'] }) }),
  Error: error,
}
