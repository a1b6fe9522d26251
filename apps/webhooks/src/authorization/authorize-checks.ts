import type { Client } from '../clients/client.js'
import { OAuthError } from '../oauth/oauth-error.js'
import type { Parameters } from '../oauth/parameters.js'
import type { ResourcePolicy } from '../oauth/resource-policy.js'
import { isScopeList, narrowScope } from '../oauth/scope.js'

type Checked = { parameters: Parameters; client: Client; resources: ResourcePolicy }
/** One check of the second phase. Throws the error that is sent to the redirect URI. */
type Check = (checked: Checked) => void

const MAX_STATE_BYTES = 8192

const refuse = (code: ConstructorParameters<typeof OAuthError>[0], description: string): never => {
  throw new OAuthError(code, description)
}

const noRepetition: Check = ({ parameters }) => parameters.refuseRepetition()

const usableState: Check = ({ parameters }) => {
  const state = parameters.get('state') ?? ''
  if (Buffer.byteLength(state) > MAX_STATE_BYTES || state.includes('\0'))
    refuse('invalid_request', 'state must be at most 8 KiB of text')
}

// RFC 9101: a request object could contain other values than the parameters that were checked.
const noRequestObject: Check = ({ parameters }) => {
  if (parameters.get('request') !== undefined) refuse('request_not_supported', 'request is not supported')
  if (parameters.get('request_uri') !== undefined)
    refuse('request_uri_not_supported', 'request_uri is not supported')
}

const responseType: Check = ({ parameters }) => {
  if (parameters.require('response_type') !== 'code')
    refuse('unsupported_response_type', 'response_type must be code')
}

const responseMode: Check = ({ parameters }) => {
  if ((parameters.get('response_mode') ?? 'query') !== 'query')
    refuse('invalid_request', 'response_mode must be query')
}

const grantType: Check = ({ client }) => {
  if (!client.grantTypes.includes('authorization_code'))
    refuse('unauthorized_client', 'The client is not registered for authorization codes')
}

// RFC 7636 section 4.2: base64url of a SHA-256 digest has 43 characters.
const codeChallenge: Check = ({ parameters }) => {
  if (!/^[A-Za-z0-9_-]{43}$/.test(parameters.require('code_challenge')))
    refuse('invalid_request', 'code_challenge must be 43 characters of base64url')
}

// RFC 7636 section 4.3: absent would mean plain, which protects nothing.
const codeChallengeMethod: Check = ({ parameters }) => {
  if (parameters.get('code_challenge_method') !== 'S256')
    refuse('invalid_request', 'code_challenge_method must be S256')
}

const scope: Check = ({ parameters, client }) => {
  const wanted = parameters.get('scope')
  if (wanted !== undefined && !isScopeList(wanted)) refuse('invalid_scope', 'scope is malformed')
  if (grantedScope(parameters, client) === '') refuse('invalid_scope', 'No requested scope can be granted')
}

const resource: Check = ({ parameters, resources }) => {
  if (!parameters.all('resource').every((value) => resources.accepts(value)))
    refuse('invalid_target', 'resource names a server that this one issues no tokens for')
}

// OpenID Connect Core section 3.1.2.1: `none` must be the only value.
const prompt: Check = ({ parameters }) => {
  const prompts = promptsOf(parameters)
  if (prompts.has('none') && prompts.size > 1)
    refuse('invalid_request', 'prompt=none goes with no other value')
}

const maxAge: Check = ({ parameters }) => {
  if (!/^\d{1,9}$/.test(parameters.get('max_age') ?? '0'))
    refuse('invalid_request', 'max_age must be a number of seconds')
}

/** The second phase (docs/specification.md#authorization-request), in the order of its checks: errors here go to the client. */
export const phaseTwoChecks: readonly Check[] = [
  noRepetition,
  usableState,
  noRequestObject,
  responseType,
  responseMode,
  grantType,
  codeChallenge,
  codeChallengeMethod,
  scope,
  resource,
  prompt,
  maxAge,
]

export const promptsOf = (parameters: Parameters): ReadonlySet<string> =>
  new Set((parameters.get('prompt') ?? '').split(' ').filter((value) => value !== ''))

/** How many seconds ago the person may have proved who they are. Null for any. */
export function maxAgeOf(parameters: Parameters): number | null {
  if (promptsOf(parameters).has('login')) return 0
  const wanted = parameters.get('max_age')
  return wanted === undefined ? null : Number(wanted)
}

/** Returns the requested scopes that the client is registered for, or all of its scopes if it requests none. */
export function grantedScope(parameters: Parameters, client: Client): string {
  const wanted = parameters.get('scope')
  return wanted === undefined ? client.scope : narrowScope(wanted, client.scope)
}
