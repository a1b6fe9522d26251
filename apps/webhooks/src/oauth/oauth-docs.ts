import type { JsonSchema, ParameterDoc, RouteDocs } from '@signet/http'
import type { OAuthErrorCode } from './oauth-error.js'
import { SCOPE_CONNECT } from './scope.js'

const text = (description: string): JsonSchema => ({ type: 'string', description })
const texts = (description: string): JsonSchema => ({ type: 'array', items: { type: 'string' }, description })
const object = (required: string[], properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  required,
  properties,
})

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

const METADATA = {
  redirect_uris: texts('1 to 10: allow-listed https URIs, or loopback http ones, whose port may vary'),
  client_name: text('At most 200 characters'),
  token_endpoint_auth_method: {
    type: 'string',
    enum: ['none', 'client_secret_basic', 'client_secret_post'],
    description: 'Default `client_secret_basic`; `none` for public clients',
  },
  grant_types: texts('Default `authorization_code` and `refresh_token`'),
  response_types: texts('`code`'),
  scope: text(`\`${SCOPE_CONNECT}\``),
}

const CREDENTIALS = {
  client_id: text('Unless the client authenticates with HTTP Basic'),
  client_secret: text('With `client_secret_post`'),
}

/** Components of the OpenAPI document. */
export const oauthComponents: Readonly<Record<string, JsonSchema>> = {
  OAuthError: object(['error'], { error: text('The code'), error_description: text('For developers') }),
  RegisteredClient: object(['client_id', 'client_id_issued_at', ...Object.keys(METADATA)], {
    client_id: text('`svcl_…`'),
    client_id_issued_at: { type: 'integer', description: 'Unix seconds' },
    client_secret: text('Of confidential clients, shown only this once'),
    client_secret_expires_at: { type: 'integer', description: '0: never' },
    ...METADATA,
  }),
  Tokens: object(['access_token', 'token_type', 'expires_in', 'scope', 'email'], {
    access_token: text('`sva_…`'),
    token_type: text('`Bearer`'),
    expires_in: { type: 'integer', description: 'Seconds' },
    refresh_token: text('`svr_…`; each may be used once and brings the next'),
    scope: text('Granted scopes, separated by spaces'),
    email: text('Of the account, may be empty; not for authorization decisions'),
  }),
  Introspection: object(['active'], {
    active: { type: 'boolean' },
    scope: text(''),
    client_id: text(''),
    sub: text('Account'),
    iss: text(''),
    aud: texts('Resources'),
    exp: { type: 'integer' },
    iat: { type: 'integer' },
    token_type: text(''),
  }),
}

export const registerBody = object(['redirect_uris'], METADATA)

export const tokenBody = object(['grant_type'], {
  grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
  code: text('Of the authorization response'),
  redirect_uri: text('As in the authorization request'),
  code_verifier: text('PKCE, 43 to 128 characters'),
  refresh_token: text('With grant type `refresh_token`'),
  scope: text('Narrows the scope of the new access token'),
  resource: text('RFC 8707'),
  ...CREDENTIALS,
})

export const singleTokenBody = object(['token'], {
  token: text('The token in question'),
  token_type_hint: text('Only a hint'),
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
  query('resource', false, 'RFC 8707'),
  query('prompt', false, '`login` or `select_account` asks for a sign-in, `none` never shows a page'),
  query('max_age', false, 'How many seconds ago the person may have signed in'),
  query('login_hint', false, 'Whom to suggest on the sign-in page'),
]

const ERRORS: Readonly<Record<number, string>> = {
  400: 'An OAuth error',
  401: '`invalid_client`',
  413: 'The body is too large',
  429: '`too_many_requests`, with `Retry-After`',
  503: '`temporarily_unavailable`',
}

/** The answers of an OAuth endpoint: its success, by the name of its component, and the errors it can give. */
export function oauthResponses(
  success: number,
  component: string | undefined,
  ...errors: number[]
): RouteDocs['responses'] {
  const failures = [...errors, 413, 429, 503].map((status) => [
    status,
    { description: ERRORS[status] ?? '', schema: ref('OAuthError') },
  ])
  return {
    [success]: { description: 'Done', ...(component === undefined ? {} : { schema: ref(component) }) },
    ...(Object.fromEntries(failures) as RouteDocs['responses']),
  }
}

/** Every error code of the OAuth endpoints and what causes it, for docs/errors.md. */
export const oauthErrorReasons: Readonly<Record<OAuthErrorCode | OtherCode, string>> = {
  invalid_request:
    'a parameter is missing, repeated or malformed; the wrong content type; PKCE missing or `plain`',
  invalid_client: 'unknown, disabled or wrongly authenticated client',
  invalid_grant:
    'code or refresh token unknown, expired, used or revoked; wrong redirect_uri or code_verifier',
  unauthorized_client: 'the client is not registered for this grant type',
  unsupported_grant_type: 'another grant type than `authorization_code` and `refresh_token`',
  unsupported_response_type: 'another response type than `code`',
  invalid_scope: 'no known scope, or more than was granted',
  invalid_target: 'a resource this server does not issue tokens for',
  access_denied: 'the user denied the request; or a form was forged, or an external sign-in has expired',
  login_required: '`prompt=none` and nobody is signed in',
  consent_required: '`prompt=none`, and consent is always asked',
  request_not_supported: 'the parameter `request`',
  request_uri_not_supported: 'the parameter `request_uri`',
  invalid_redirect_uri: 'a redirect URI that is malformed or not allowed',
  invalid_client_metadata: 'any other member of a registration that is not accepted',
  not_found: 'there is nothing at this path',
  too_many_requests: 'too fast; `Retry-After` says when to try again',
  server_error: 'our fault',
  temporarily_unavailable: 'the database or the identity server is down for a moment',
  request_timeout: 'it took longer than 30 seconds',
}

type OtherCode =
  'not_found' | 'request_timeout' | 'too_many_requests' | 'server_error' | 'temporarily_unavailable'
