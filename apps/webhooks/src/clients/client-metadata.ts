import { hasInvisible, withoutInvisible } from '@signet/pages/visible'
import { parseUrl } from '@signet/address-guard/parse-url'
import { OAuthError } from '../oauth/oauth-error.js'
import { SCOPE_CONNECT } from '../oauth/scope.js'
import {
  authMethods,
  grantTypes,
  type AuthMethod,
  type ClientExtra,
  type ClientMetadata,
  type GrantType,
} from './client.js'
import type { RedirectAllowList } from '../redirects/redirect-allow-list.js'
import { redirectUriProblem } from '../redirects/redirect-uri.js'

type Input = Readonly<Record<string, unknown>>

/**
 * Returns the effective metadata of a registration request (docs/specification.md#client-registration, RFC 7591 section 2). Replaces
 * unusable values that the server may replace; throws `invalid_redirect_uri` or `invalid_client_metadata` for all others.
 */
export function readClientMetadata(body: Input, allowList: RedirectAllowList): ClientMetadata {
  const input = withoutBlanks(body)
  checkResponseTypes(input['response_types'])
  return {
    redirectUris: readRedirectUris(input['redirect_uris'], allowList),
    authMethod: readAuthMethod(input['token_endpoint_auth_method']),
    grantTypes: readGrantTypes(input['grant_types']),
    scope: readScope(input['scope']),
    clientName: readClientName(input['client_name']),
    extra: readExtra(input),
  }
}

/** Treats `null` and `""` as omitted: shipping clients send `"logo_uri": ""`. */
function withoutBlanks(body: Input): Input {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== ''))
}

function readRedirectUris(value: unknown, allowList: RedirectAllowList): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw badRedirect('redirect_uris must be a list with 1 to 10 URIs')
  if (value.length > 10) throw badRedirect('redirect_uris must not have more than 10 URIs')
  const seen = new Set<string>()
  for (const [index, uri] of (value as unknown[]).entries()) {
    const name = `redirect_uris[${index}]`
    if (typeof uri !== 'string') throw badRedirect(`${name} must be a string`)
    const problem = redirectUriProblem(uri)
    if (problem !== null) throw badRedirect(`${name} ${problem}`)
    if (!allowList.allows(uri)) throw badRedirect(`${name} is not on the allow-list of this server`)
    if (seen.has(uri)) throw badRedirect(`${name} is repeated`)
    seen.add(uri)
  }
  return [...seen]
}

function readAuthMethod(value: unknown): AuthMethod {
  if (value === undefined) return 'client_secret_basic'
  const found = authMethods.find((method) => method === value)
  if (!found) throw badMetadata(`token_endpoint_auth_method must be one of ${authMethods.join(', ')}`)
  return found
}

function readGrantTypes(value: unknown): GrantType[] {
  if (value === undefined) return [...grantTypes]
  const kept = grantTypes.filter((type) => strings('grant_types', value).includes(type))
  if (!kept.includes('authorization_code')) throw badMetadata('grant_types must contain authorization_code')
  return kept
}

function checkResponseTypes(value: unknown): void {
  if (value !== undefined && !strings('response_types', value).includes('code'))
    throw badMetadata('response_types must contain code')
}

/** Returns the only scope that a client can register, no matter what it requests. */
function readScope(value: unknown): string {
  if (value !== undefined && typeof value !== 'string') throw badMetadata('scope must be a string')
  return SCOPE_CONNECT
}

function readClientName(value: unknown): string {
  if (value === undefined) return 'OAuth client'
  if (typeof value !== 'string') throw badMetadata('client_name must be a string')
  // Lines of spaces would push what the consent page says about the application out of sight, and stacks of marks would cover it.
  const name = withoutInvisible(value)
    .replace(/\p{Zs}+/gu, ' ')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .trim()
  if ([...name].length > 200) throw badMetadata('client_name must not be longer than 200 characters')
  return name === '' ? 'OAuth client' : name
}

function readExtra(input: Input): ClientExtra {
  const extra: Record<string, string | readonly string[]> = {}
  for (const name of ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri']) {
    if (input[name] !== undefined) extra[name] = readHttpsUrl(name, input[name])
  }
  if (input['contacts'] !== undefined) extra['contacts'] = readContacts(input['contacts'])
  for (const name of ['software_id', 'software_version']) {
    if (input[name] !== undefined) extra[name] = readText(name, input[name])
  }
  const type = input['application_type']
  if (type !== undefined && type !== 'native' && type !== 'web')
    throw badMetadata('application_type must be native or web')
  if (type !== undefined) extra['application_type'] = type
  return extra
}

function readHttpsUrl(name: string, value: unknown): string {
  if (typeof value !== 'string' || value.length > 2048 || !isHttpsUrl(value))
    throw badMetadata(`${name} must be an https URL of at most 2048 characters`)
  return value
}

const isHttpsUrl = (text: string) =>
  /^https:\/\/[^/]/i.test(text) && !/[\s\\]/.test(text) && !hasInvisible(text) && parseUrl(text) !== null

function readContacts(value: unknown): string[] {
  const contacts = strings('contacts', value)
  if (contacts.length > 10) throw badMetadata('contacts must not have more than 10 entries')
  return contacts.map((contact) => readText('contacts', contact))
}

function readText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value.length > 255 || value.includes('\0') || /\p{Cs}/u.test(value))
    throw badMetadata(`${name} must be text of at most 255 characters`)
  return value
}

function strings(name: string, value: unknown): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw badMetadata(`${name} must be a list of strings`)
  return value
}

const badRedirect = (description: string) => new OAuthError('invalid_redirect_uri', description)
const badMetadata = (description: string) => new OAuthError('invalid_client_metadata', description)
