import { definitions, providers, type Provider } from '../providers/definitions/index.js'
import {
  comparesNonces,
  type ProviderDefinition,
  type ProviderSettings,
} from '../providers/model/provider.js'
import { endpointBelow } from '../providers/provider-registry.js'

/** docs/providers.md: what an operator needs to enable a provider. */
export function providersPage(): string {
  return [
    '# External providers',
    '',
    'Generated from the definitions of the providers by `npm run docs`; change those, not this file.',
    '',
    'Register the service at the provider with the callback URL `<AUTH_API_EXTERNAL_URL>/callback`, then set',
    '`AUTH_EXTERNAL_<NAME>_ENABLED=true`, `_CLIENT_ID`, `_SECRET` and, with the callback URL exactly as it was registered,',
    '`_REDIRECT_URI`. `_EMAIL_OPTIONAL=true` accepts accounts without an address. Where the `id_token` grant',
    'compares nonces, `_SKIP_NONCE_CHECK=true` turns that off. The service does not start while an enabled provider lacks one',
    'of the settings, and names those that are missing.',
    '',
    'Scopes are those below and those the caller requests in `scopes`. Addresses that a provider does not verify are confirmed',
    'by email before anyone can sign in.',
    '',
    'The tests run every provider over real sockets against local servers that speak its protocol, among them a complete',
    "OpenID Connect server with signed tokens. They never call the provider's own service: try each provider that you enable.",
    '',
    '| File | What it runs |',
    '| --- | --- |',
    ...Object.entries(TESTS).map(([file, what]) => `| \`test/providers/${file}.test.ts\` | ${what} |`),
    '',
    ...providers.flatMap(section),
    '## Adding a provider',
    '',
    '1. Copy the closest file in `src/providers/definitions`, and change its label, URLs, scopes and mapping.',
    '2. Add its name to `definitions/index.ts`. Settings, `/settings`, routes, pages and these documents follow.',
    '3. Add its row to `rows-of-work.ts`, `rows-of-people.ts` or, if it speaks OpenID Connect, `rows-of-open-id.ts` in `test/providers`,',
    '   and its addresses to `addresses.test.ts`. Then `npm run docs`.',
    '',
  ].join('\n')
}

const TESTS = {
  rows: 'Authorize URL and scopes; client authentication, and the other method after a 401; profile calls and their headers; the mapping; a missing and an unverified address; refusals, pages instead of JSON, broken connections, servers that never answer.',
  'open-id':
    "Redirects through an OpenID Connect server with that provider's paths, signed tokens and key set; PKCE; refused consent; the `id_token` grant with tokens of an app.",
  'id-token':
    'Invalid tokens: issuer, audience, signature, lifetime, nonce, `at_hash`; disabled providers; unavailable keys.',
  twitter: 'Every OAuth 1.0a signature, checked by the server; its refusals.',
  quirks: 'What only one provider does.',
  addresses: 'Default URLs of each provider; whose id tokens are accepted.',
}

function section(name: Provider): string[] {
  const definition: ProviderDefinition = definitions[name]
  const { guide, aliases = [], scopes } = definition
  const rows: [string, string][] = [
    ['Register at', guide.register],
    ['Variables', variablesOf(name, definition)],
    ...(aliases.length > 0 ? [['Also known as', code(aliases)] as [string, string]] : []),
    ['Protocol', protocolOf(definition)],
    ['Scopes', scopes.length > 0 ? code(scopes) : 'none'],
    ['Authorize URL', `\`${authorizeUrl(definition)}\``],
    ['Returns', guide.returns],
    ['Notes', guide.quirks.join('<br>')],
    ['Tested in', code(guide.tests.map((file) => `test/providers/${file}.test.ts`))],
  ]
  return [
    `## ${name}`,
    '',
    '| | |',
    '| --- | --- |',
    ...rows.map(([title, text]) => `| ${title} | ${text} |`),
    '',
  ]
}

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

function variablesOf(name: Provider, definition: ProviderDefinition): string {
  const { requiredBaseUrl, fixedBaseUrl } = definition
  const prefix = `AUTH_EXTERNAL_${name.toUpperCase()}`
  const required = ['ENABLED', 'CLIENT_ID', 'SECRET', 'REDIRECT_URI', ...(requiredBaseUrl ? ['URL'] : [])]
  const optional = [
    ...(requiredBaseUrl || fixedBaseUrl ? [] : ['URL']),
    'EMAIL_OPTIONAL',
    ...(comparesNonces(definition) ? ['SKIP_NONCE_CHECK'] : []),
  ]
  return `${code(required.map((part) => `${prefix}_${part}`))}; optional ${code(optional.map((part) => `_${part}`))}`
}

function protocolOf(definition: ProviderDefinition): string {
  if (definition.protocol === 'oauth1') return 'OAuth 1.0a'
  const authentication = definition.clientAuthentication === 'basic' ? 'HTTP Basic' : 'the form'
  const grant = definition.openId?.idTokenGrant ? '; id tokens in the `id_token` grant' : ''
  return `OAuth 2, client secret in ${authentication}${grant}`
}

/** The authorize URL with only the required settings. */
function authorizeUrl(definition: ProviderDefinition): string {
  const baseUrl = definition.requiredBaseUrl ? '<URL>' : undefined
  const settings = { baseUrl } as ProviderSettings
  return definition.endpoints(endpointBelow(baseUrl), settings).authorize
}
