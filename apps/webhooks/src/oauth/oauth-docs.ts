import type { JsonSchema, ParameterDoc, RouteDocs } from '@signet/http'
import { count, errorHeaders, object, ref, text } from '../schemas/schema-parts.js'
import type { OAuthErrorCode } from './oauth-error.js'
import { SCOPE_CONNECT } from './scope.js'

const texts = (description: string, example: readonly string[], more: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
  examples: [example],
  ...more,
})
const seconds = (description: string, example: number): JsonSchema => count(description, example)

const CALLBACK = 'https://app.example.com/oauth/callback'

const METADATA = {
  redirect_uris: texts('Allow-listed https URIs, or loopback http ones, whose port may vary', [CALLBACK], {
    minItems: 1,
    maxItems: 10,
  }),
  client_name: text('Shown to people as unverified', 'Example app', { maxLength: 200 }),
  token_endpoint_auth_method: {
    type: 'string',
    enum: ['client_secret_basic', 'client_secret_post', 'none'],
    default: 'client_secret_basic',
    description: '`none` for public clients',
  },
  grant_types: texts('What the client may use at the token endpoint', [
    'authorization_code',
    'refresh_token',
  ]),
  response_types: texts('`code`', ['code']),
  scope: text('Separated by spaces', SCOPE_CONNECT),
}

const CLIENT_ID = 'svcl_2b7Qm9xTfL0aKcVw'
const CREDENTIALS = {
  'client_id?': text('Unless the client authenticates with HTTP Basic', CLIENT_ID),
  'client_secret?': { type: 'string', description: 'With `client_secret_post`' },
}

/** Components of the OpenAPI document. */
export const oauthComponents: Readonly<Record<string, JsonSchema>> = {
  OAuthError: object({
    error: text('The code', 'invalid_request'),
    'error_description?': text('For developers', 'grant_type is missing'),
  }),
  RegisteredClient: {
    ...object({
      client_id: text('The id', CLIENT_ID),
      client_id_issued_at: seconds('Unix seconds', 1_769_850_000),
      'client_secret?': text('Of confidential clients, shown only this once', 'svcs_9fKq3ZtW1xYb7LmD'),
      'client_secret_expires_at?': seconds('0: never', 0),
      ...METADATA,
    }),
    // RFC 7591 section 3.2.1: the response contains everything that was registered, including members without an effect.
    additionalProperties: true,
  },
  Tokens: object({
    access_token: text('The access token', 'sva_Zq2mT8vLr0Xk4nBy7JcWd1HsPf5Ge9'),
    token_type: { type: 'string', const: 'Bearer' },
    expires_in: seconds('Lifetime in seconds', 3600),
    'refresh_token?': text('May be used once; each use returns the next one', 'svr_Hn5Rk2Wq8Zt4Yb1Xc7Vm0Lp3'),
    scope: text('Granted scopes, separated by spaces', SCOPE_CONNECT),
    email: text(
      'Email address of the account; may be empty; do not use it for authorization decisions',
      'ada@example.com',
    ),
  }),
  Introspection: object({
    active: { type: 'boolean' },
    'scope?': text('Separated by spaces', SCOPE_CONNECT),
    'client_id?': text('The client', CLIENT_ID),
    'sub?': { type: 'string', format: 'uuid', description: 'The account' },
    'iss?': { type: 'string', format: 'uri', description: 'This service' },
    'aud?': texts('Resources, as the operator writes them', ['https://hooks.example.com']),
    'exp?': seconds('Unix seconds', 1_769_853_600),
    'iat?': seconds('Unix seconds', 1_769_850_000),
    'token_type?': { type: 'string', const: 'Bearer' },
  }),
}

export const registerBody: JsonSchema = object({
  redirect_uris: METADATA.redirect_uris,
  'client_name?': METADATA.client_name,
  'token_endpoint_auth_method?': METADATA.token_endpoint_auth_method,
  'grant_types?': METADATA.grant_types,
  'response_types?': METADATA.response_types,
  'scope?': METADATA.scope,
})

export const tokenBody = object({
  grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
  'code?': text('Of the authorization response', 'svc_4Kq9Wz2Xb7Lm'),
  'redirect_uri?': text('As in the authorization request', CALLBACK),
  'code_verifier?': text('PKCE', 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', {
    minLength: 43,
    maxLength: 128,
  }),
  'refresh_token?': { type: 'string', description: 'With grant type `refresh_token`' },
  'scope?': { type: 'string', description: 'Narrows the scope of the new access token' },
  'resource?': {
    type: 'string',
    description: 'RFC 8707; may be repeated. Limits the new access token to these',
  },
  ...CREDENTIALS,
})

export const singleTokenBody = object({
  token: text('The token in question', 'svr_Hn5Rk2Wq8Zt4Yb1Xc7Vm0Lp3'),
  'token_type_hint?': text('Only a hint', 'refresh_token'),
  ...CREDENTIALS,
})

const query = (name: string, required: boolean, description: string): ParameterDoc => ({
  name,
  in: 'query',
  required,
  schema: { type: 'string' },
  description,
})

export const authorizeParameters: readonly ParameterDoc[] = [
  query('response_type', true, '`code`'),
  query('client_id', true, 'As registered'),
  query('redirect_uri', false, 'As registered; may be left out when there is only one'),
  query('scope', false, `\`${SCOPE_CONNECT}\``),
  query('state', false, 'Comes back unchanged'),
  query('code_challenge', true, 'PKCE: base64url of the SHA-256 of the verifier'),
  query('code_challenge_method', true, '`S256`'),
  query('resource', false, 'RFC 8707; may be repeated'),
  query('prompt', false, '`login` or `select_account` asks for a sign-in, `none` never shows a page'),
  query('max_age', false, 'How many seconds ago the person may have signed in'),
  query('login_hint', false, 'Account to suggest on the sign-in page'),
]

const ERRORS: Readonly<Record<number, { description: string; code: OAuthErrorCode | OtherCode }>> = {
  400: { description: 'An OAuth error', code: 'invalid_request' },
  401: {
    description:
      '`invalid_client`; or `invalid_grant` for a token request of an account that is banned, deleted or was signed out everywhere',
    code: 'invalid_client',
  },
  404: { description: 'The operator has not enabled this', code: 'not_found' },
  408: { description: '`request_timeout`: the body did not arrive in time', code: 'request_timeout' },
  413: { description: 'The body is too large', code: 'invalid_request' },
  429: { description: '`too_many_requests`, with `Retry-After`', code: 'too_many_requests' },
  500: { description: '`server_error`', code: 'server_error' },
  503: { description: '`temporarily_unavailable`', code: 'temporarily_unavailable' },
  504: { description: '`request_timeout`', code: 'request_timeout' },
}

/** The responses of an OAuth endpoint: its success, by the name of its component, and the errors it can return. */
export function oauthResponses(
  success: number,
  schema: JsonSchema,
  ...errors: number[]
): RouteDocs['responses'] {
  const failures = [...errors, 408, 413, 429, 500, 503, 504].map((status) => [
    status,
    {
      description: ERRORS[status]?.description ?? '',
      schema: ref('OAuthError'),
      example: { error: ERRORS[status]?.code, error_description: 'What went wrong' },
      headers: errorHeaders[status],
    },
  ])
  return {
    [success]: { description: 'Done', schema },
    ...(Object.fromEntries(failures) as RouteDocs['responses']),
  }
}

/** Every error code of the OAuth endpoints and what causes it, for docs/errors.md. */
export const oauthErrorReasons: Readonly<Record<OAuthErrorCode | OtherCode, string>> = {
  invalid_request:
    'a parameter is missing, repeated or malformed; the wrong content type; PKCE missing or `plain`',
  invalid_client: 'unknown, disabled or wrongly authenticated client',
  invalid_grant:
    'code or refresh token unknown, expired, used or revoked; wrong redirect_uri or code_verifier; or the account is banned, deleted or was signed out everywhere',
  unauthorized_client: 'the client is not registered for this grant type',
  unsupported_grant_type: 'a grant type other than `authorization_code` and `refresh_token`',
  unsupported_response_type: 'a response type other than `code`',
  invalid_scope: 'no known scope, or more than was granted',
  invalid_target: 'a resource this server does not issue tokens for',
  access_denied: 'the user denied the request; or a form was forged, or an external sign-in has expired',
  login_required: '`prompt=none` and nobody is signed in',
  consent_required: '`prompt=none`, and consent is always required',
  request_not_supported: 'the parameter `request`',
  request_uri_not_supported: 'the parameter `request_uri`',
  invalid_redirect_uri: 'a redirect URI that is malformed or not allowed',
  invalid_client_metadata: 'any other member of a registration that is not accepted',
  not_found: 'there is nothing at this path',
  too_many_requests: 'too fast; `Retry-After` says when to try again',
  server_error: 'our fault',
  temporarily_unavailable: 'the database or the identity server is temporarily unavailable',
  request_timeout: 'it took longer than 30 seconds; 408 if the body did not arrive in that time',
}

type OtherCode =
  | 'not_found'
  | 'request_timeout'
  | 'too_many_requests'
  | 'server_error'
  | 'temporarily_unavailable'
