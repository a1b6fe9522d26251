import type { JsonSchema } from '@signet/http'
import { errorCodes } from '../errors/error-codes.js'

const text: JsonSchema = { type: 'string' }
const example = (value: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  examples: [value],
  ...more,
})
const types = { enum: ['totp', 'phone', 'webauthn'] }
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYXV0aGVudGljYXRlZCJ9.c2lnbmF0dXJl'
const email = example('ada@example.com', { description: 'Empty without one' })
const phone = example('', { description: 'Digits only; empty without one' })
const message = example('For security purposes, you can only request this after 60 seconds.')
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

const weakness: JsonSchema = { type: 'string', enum: ['length', 'characters'] }

const userMembers = {
  id: uuid,
  aud: example('authenticated'),
  role: example('authenticated'),
  email,
  phone,
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
  'deletion_due_at?': time,
  'deleted_at?': time,
  is_anonymous: flag,
}

const sessionMembers = {
  access_token: example(JWT),
  token_type: { type: 'string', const: 'bearer' },
  expires_in: { ...count, description: 'Seconds', examples: [3600] },
  expires_at: { ...count, description: 'Unix seconds', examples: [1769853600] },
  refresh_token: example('r1.Zq2mT8vLr0Xk4nBy7JcWd1HsPf5Ge9'),
  user: ref('User'),
}

const errorCode: JsonSchema = { type: 'string', enum: Object.keys(errorCodes) }

const error: JsonSchema = {
  description:
    'The first form without `X-Supabase-Api-Version: 2024-01-01` in the request, the second one with it.',
  anyOf: [
    object({
      code: { ...count, description: 'The status', examples: [400] },
      error_code: errorCode,
      msg: message,
      'error_id?': text,
      'weak_password?': ref('WeakPasswordReasons'),
    }),
    object({ code: errorCode, message, 'weak_password?': ref('WeakPasswordReasons') }),
  ],
}

const RECOVERY_CODE: JsonSchema = { type: 'string', const: 'recovery_code' }
const CHALLENGE = example('c2VjcmV0IG9mIHRoZSBzZXJ2ZXI')
/** Options of WebAuthn as JSON, whose further members depend on the version of that specification. */
const webauthnOptions = (reader: string, members: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  ...object(members),
  additionalProperties: true,
  description: `As \`PublicKeyCredential.${reader}\` of browsers takes them`,
})
const creationOptions = webauthnOptions('parseCreationOptionsFromJSON', {
  rp: anyObject,
  user: anyObject,
  challenge: CHALLENGE,
  pubKeyCredParams: listOf(anyObject),
})
const requestOptions = webauthnOptions('parseRequestOptionsFromJSON', {
  rpId: example('example.com'),
  challenge: CHALLENGE,
})

/**
 * Response schemas (docs/specification.md#shapes and docs/specification.md#errors); a test validates real answers
 * against them.
 */
export const schemas: Readonly<Record<string, JsonSchema>> = {
  Health: object({
    version: example('0.1.0'),
    name: example('auth'),
    description: example('Signet identity server'),
  }),
  KeySet: object({ keys: listOf(anyObject) }),
  Settings: object({
    external: { type: 'object', additionalProperties: flag },
    disable_signup: flag,
    autoconfirm: flag,
    mailer_autoconfirm: flag,
    phone_autoconfirm: flag,
    sms_provider: example(''),
    saml_enabled: flag,
    passkeys_enabled: flag,
  }),
  User: object(userMembers),
  Identity: object({
    identity_id: uuid,
    id: example('7b1e9c52-3f0a-4a8e-9d1f-2c6b5e4a1d30', { description: 'Id of the user at the provider' }),
    user_id: uuid,
    identity_data: anyObject,
    provider: example('email'),
    'last_sign_in_at?': time,
    created_at: time,
    updated_at: time,
    'email?': text,
  }),
  Factor: object({
    id: uuid,
    'friendly_name?': text,
    factor_type: { type: 'string', ...types },
    status: { type: 'string', enum: ['verified', 'unverified'] },
    phone,
    last_challenged_at: { type: ['string', 'null'], format: 'date-time' },
    created_at: time,
    updated_at: time,
  }),
  FactorList: listOf(ref('Factor')),
  EnrolledFactor: object({
    id: uuid,
    type: { type: 'string', ...types },
    'friendly_name?': text,
    'totp?': object({
      qr_code: example('<svg xmlns="http://www.w3.org/2000/svg"></svg>', { description: 'SVG' }),
      secret: example('JBSWY3DPEHPK3PXP'),
      uri: example('otpauth://totp/Signet:ada@example.com?secret=JBSWY3DPEHPK3PXP'),
    }),
    'phone?': text,
  }),
  FactorChallenge: object({
    id: uuid,
    type: { type: 'string', ...types },
    expires_at: count,
    'webauthn?': {
      anyOf: [
        object({
          type: { type: 'string', const: 'create' },
          credential_options: object({ publicKey: creationOptions }),
        }),
        object({
          type: { type: 'string', const: 'request' },
          credential_options: object({ publicKey: requestOptions }),
        }),
      ],
    },
  }),
  FactorId: object({ id: uuid }),
  RecoveryCodeCount: object({ codes_left: count, created_at: { ...time, type: ['string', 'null'] } }),
  RecoveryCodes: object({ codes: listOf(example('4f7kq-9wm2x', { description: 'One code' })) }),
  ClientRecoveryCodeStatus: object({ id: uuid, type: RECOVERY_CODE, total: count, remaining: count }),
  ClientRecoveryCodes: object({
    id: uuid,
    type: RECOVERY_CODE,
    total: count,
    codes: listOf(example('4f7kq9wm2x', { description: 'One code' })),
  }),
  Passkey: object({ id: uuid, friendly_name: example('Passkey'), created_at: time, 'last_used_at?': time }),
  PasskeyList: listOf(ref('Passkey')),
  PasskeyCreation: object({ challenge_id: uuid, options: creationOptions, expires_at: count }),
  PasskeyRequest: object({ challenge_id: uuid, options: requestOptions, expires_at: count }),
  ProviderUrl: object({ url: { type: 'string', format: 'uri' } }),
  Session: object({
    ...sessionMembers,
    'type?': text,
    'provider_token?': text,
    'provider_refresh_token?': text,
    'weak_password?': object({ reasons: listOf(weakness), message: example('The password is too short') }),
  }),
  SignUp: {
    description:
      'A user who has to confirm the address, or a session with the main members of its user at the top level.',
    anyOf: [
      ref('User'),
      object({
        ...sessionMembers,
        id: uuid,
        email,
        phone,
        'confirmation_sent_at?': time,
        created_at: time,
        updated_at: time,
      }),
    ],
  },
  UserList: object({ users: listOf(ref('User')), aud: example('authenticated') }),
  GeneratedLink: object({
    ...userMembers,
    action_link: { type: 'string', format: 'uri' },
    email_otp: example('123456'),
    hashed_token: example('Zq2mT8vLr0Xk4nBy7JcWd1HsPf5Ge9aK3tYb6u'),
    verification_type: example('magiclink'),
    redirect_to: { type: 'string', format: 'uri' },
  }),
  AuditEntryList: listOf(
    object({ id: uuid, payload: anyObject, created_at: time, ip_address: example('203.0.113.7') }),
  ),
  WeakPasswordReasons: object({ reasons: listOf(weakness) }),
  Empty: object({}),
  MessageId: object({ message_id: uuid }),
  MaybeMessageId: {
    ...object({ 'message_id?': uuid }),
    description: 'An id where a phone was sent a message',
  },
  FirstHalf: object({
    msg: example('Confirmation link accepted. Please proceed to confirm link sent to the other email'),
    code: { type: 'string', const: '200' },
  }),
  Verified: { anyOf: [ref('Session'), ref('FirstHalf')] },
  OAuthError: object({ error: example('invalid_grant'), error_description: example('Bad ID token') }),
  OAuthOrOwnError: { anyOf: [ref('Error'), ref('OAuthError')] },
  Page: { type: 'string' },
  OpenApi: { type: 'object', additionalProperties: true },
  Error: error,
}
