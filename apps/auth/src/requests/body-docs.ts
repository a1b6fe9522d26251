import type { JsonSchema } from '@signet/http'
import { exampleOf } from '@signet/http/open-api'

const text = (description: string, example: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
  ...more,
})
const unset = (description: string): JsonSchema => ({ type: 'string', description })
const anyObject = (description: string): JsonSchema => ({ type: 'object', description })

/**
 * What the members of request bodies mean; a name means the same in every body. The services check the values, because they can explain an
 * error better than a schema.
 */
const members = {
  email: text('An email address', 'ada@example.com', { maxLength: 255 }),
  new_email: unset('The address to change to, for a type that changes it'),
  phone: unset('A phone number in E.164 format, with or without the `+`'),
  password: text('At most 72 bytes', 'correct horse battery staple', { minLength: 1, maxLength: 72 }),
  current_password: unset('The current password'),
  password_hash: unset('bcrypt, argon2i, argon2id or Firebase scrypt, instead of a password'),
  nonce: unset('The code that `GET /reauthenticate` sent'),
  data: anyObject('Metadata of the user'),
  user_metadata: anyObject('Metadata that the user may change'),
  app_metadata: anyObject('Metadata that only administrators may change'),
  channel: {
    type: 'string',
    enum: ['sms', 'whatsapp', ''],
    description: 'With a phone number only; empty is `sms`',
  },
  create_user: {
    type: 'boolean',
    description:
      'Whether an unknown address is signed up. With the header `X-Supabase-Api-Version`: `true` signs it up, `false` answers ' +
      '422 `otp_disabled`. Without the header, the opposite: `false` signs it up; `true` means that the account must exist, and ' +
      'otherwise answers 200 and sends nothing. Left out, it is signed up in both cases.',
  },
  code_challenge: unset('PKCE: the link leads back with a code, which needs the verifier'),
  code_challenge_method: {
    type: 'string',
    enum: ['s256', 'S256', 'plain', ''],
    description: 'With a `code_challenge`; empty without one',
  },
  code_verifier: unset('PKCE: what the challenge was made of'),
  captcha_token: unset('The CAPTCHA response, if one is required'),
  gotrue_meta_security: anyObject('`captcha_token` in its other place'),
  refresh_token: text('A refresh token', 'r1.Zq2mT8vLr0Xk4nBy7JcWd1HsPf5Ge9'),
  auth_code: text('The `code` of the redirect', '7b1e9c52-3f0a-4a8e-9d1f-2c6b5e4a1d30'),
  id_token: text('An OpenID Connect ID token', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'),
  provider: text('Name of the provider', 'google'),
  client_id: unset('Of the application that got the ID token'),
  issuer: unset('Of the ID token'),
  access_token: unset('Of the provider, where `at_hash` binds it'),
  link_identity: { type: 'boolean', description: 'Adds the identity to the bearer of the request' },
  token: text('The code, with the address it was sent to; or just the token of a link', '123456'),
  token_hash: unset('The token of a link'),
  redirect_to: unset('Where the link leads, if allowed; otherwise the site'),
  role: text('The `role` claim of the user', 'authenticated'),
  aud: unset('The audience of the user'),
  id: {
    type: 'string',
    pattern: '^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?$',
    description: 'A UUID; made here if left out or empty',
  },
  email_confirm: { type: 'boolean', description: 'Counts the address as confirmed', examples: [true] },
  phone_confirm: { type: 'boolean', description: 'Counts the number as confirmed' },
  ban_duration: unset('Such as `24h`, or `none` to end a ban'),
  should_soft_delete: { type: 'boolean', default: false, description: 'Keeps a row without personal data' },
  factor_type: { type: 'string', enum: ['totp', 'phone', 'webauthn'] },
  friendly_name: text('How the user calls the factor or passkey', 'Phone'),
  challenge_id: { type: 'string', format: 'uuid', description: 'The challenge' },
  code: text('The digits of the authenticator or the SMS', '123456'),
} satisfies Record<string, JsonSchema>

type Member = keyof typeof members

/**
 * Documents a body with these members, the required ones first. `narrowed` has members that are specific to this body. The example contains
 * the required members, and the optional ones that have an example of their own: together they must be a request that works. Members that
 * are not listed are ignored, and null counts as absent (docs/specification.md#bodies).
 */
export function bodyDoc(
  required: readonly Member[],
  optional: readonly Member[] = [],
  narrowed: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const shown = Object.fromEntries([
    ...Object.entries(narrowed).filter(([name]) => !name.endsWith('?')),
    ...[...required, ...optional.filter((name) => 'examples' in members[name])].map((name) => [
      name,
      members[name],
    ]),
  ]) as Readonly<Record<string, JsonSchema>>
  return {
    type: 'object',
    examples: [
      Object.fromEntries(Object.entries(shown).map(([name, schema]) => [name, exampleOf(schema, {})])),
    ],
    required: [...Object.keys(narrowed).filter((name) => !name.endsWith('?')), ...required],
    properties: {
      ...Object.fromEntries(
        Object.entries(narrowed).map(([name, schema]) =>
          name.endsWith('?') ? [name.slice(0, -1), orNull(schema)] : [name, schema],
        ),
      ),
      ...Object.fromEntries(required.map((name) => [name, members[name]])),
      ...Object.fromEntries(optional.map((name) => [name, orNull(members[name])])),
    },
  }
}

function orNull(schema: JsonSchema): JsonSchema {
  const values = schema['enum'] as readonly unknown[] | undefined
  return { ...schema, type: [schema['type'], 'null'], ...(values ? { enum: [...values, null] } : {}) }
}

/** One value of a list. */
export const oneOf = (values: readonly string[], description: string): JsonSchema => ({
  type: 'string',
  enum: values,
  description,
})

export const captcha = ['captcha_token', 'gotrue_meta_security'] as const
export const challenge = ['code_challenge', 'code_challenge_method'] as const
