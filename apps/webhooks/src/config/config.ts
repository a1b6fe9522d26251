import { brandSettings } from '@signet/brand'
import {
  choice,
  defineSettings,
  httpUrl,
  hostName,
  integer,
  list,
  parsed,
  text,
  type ConfigOf,
} from '@signet/config'
import { importSecret, type JwtKey, type KeySet } from '@signet/jwt'
import { logLevels } from '@signet/telemetry'
import { sharedSettings } from '@signet/webhook-core/settings'
import { parsePortRanges } from './port-ranges.js'
import {
  allowListEntry,
  clientId,
  origin,
  parsePublicKeys,
  parseServiceTokens,
  parseSigningKeys,
  resourceIdentifier,
} from './config-values.js'
import { limitSettings } from './config-limits.js'
import { mailSettings } from './config-mail.js'

/** Every setting of the API (docs/specification.md#settings), in the order of the generated documentation. */
export const settings = defineSettings({
  ...sharedSettings,
  baseUrl: httpUrl({
    env: 'WEBHOOKS_BASE_URL',
    doc: 'Public URL of this service, also the OAuth issuer; https in production.',
  }),
  databasePoolSize: integer({
    env: 'WEBHOOKS_DATABASE_POOL_SIZE',
    fallback: 10,
    min: 1,
    max: 500,
    doc: 'Maximum number of database connections per process.',
  }),
  port: integer({
    env: ['WEBHOOKS_PORT', 'PORT'],
    fallback: 8082,
    max: 65_535,
    doc: 'Port of the public API; 0 picks a free one.',
  }),
  internalPort: integer({
    env: 'WEBHOOKS_INTERNAL_PORT',
    fallback: 8083,
    max: 65_535,
    doc: 'Port of the internal API and the metrics; for the private network only.',
  }),
  host: hostName({
    env: 'WEBHOOKS_HOST',
    optional: true,
    doc: 'Address to listen on; all interfaces by default.',
  }),
  drainSeconds: integer({
    env: 'WEBHOOKS_DRAIN_SECONDS',
    fallback: 5,
    max: 300,
    doc: 'How long to keep answering requests after SIGTERM while `/readyz` already fails, so that load balancers can switch to other replicas first.',
  }),
  logLevel: choice({
    env: ['WEBHOOKS_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Least severe level that is logged.',
  }),
  requestIdHeader: text({
    env: ['WEBHOOKS_REQUEST_ID_HEADER', 'REQUEST_ID_HEADER'],
    optional: true,
    doc: 'Take the request id from this header instead of generating one.',
  }),
  trustProxyHops: integer({
    env: 'WEBHOOKS_TRUST_PROXY_HOPS',
    fallback: 0,
    max: 10,
    doc: 'Number of proxies in front of this service, each of which appends to X-Forwarded-For.',
  }),
  identityUrl: httpUrl({ env: 'WEBHOOKS_IDENTITY_URL', doc: 'Identity server, as this service reaches it.' }),
  identityPublicUrl: httpUrl({
    env: 'WEBHOOKS_IDENTITY_PUBLIC_URL',
    optional: true,
    doc: 'Identity server, as browsers reach it; by default the same.',
  }),
  identityJwtSecret: parsed<JwtKey, { optional: true; secret: true; env: string; doc: string }>({
    env: 'WEBHOOKS_IDENTITY_JWT_SECRET',
    optional: true,
    secret: true,
    kind: 'text',
    parse: (raw) => importSecret(Buffer.from(raw)),
    doc: 'Also verifies user JWTs made with HS256, for an identity server that signs with its AUTH_JWT_SECRET.',
  }),
  identityJwksUrl: httpUrl({
    env: 'WEBHOOKS_IDENTITY_JWKS_URL',
    optional: true,
    fallbackDoc:
      '`/.well-known/jwks.json` of WEBHOOKS_IDENTITY_URL, unless WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS is set',
    doc: 'JWK Set that verifies user JWTs made with RS256, ES256 or EdDSA.',
  }),
  identityJwtPublicKeys: parsed<KeySet, { optional: true; env: string; doc: string }>({
    env: 'WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS',
    optional: true,
    kind: 'JSON',
    parse: parsePublicKeys,
    doc: 'Public keys that verify user JWTs, as a JSON array of JWKs or a JWK Set, instead of fetching them.',
  }),
  identityJwtAudience: text({
    env: 'WEBHOOKS_IDENTITY_JWT_AUD',
    fallback: 'authenticated',
    doc: 'Audience a user JWT must have.',
  }),
  identityJwtIssuer: text({
    env: 'WEBHOOKS_IDENTITY_JWT_ISSUER',
    optional: true,
    doc: 'Issuer a user JWT must have; unchecked when unset.',
  }),
  identityJwtRoles: list({
    env: 'WEBHOOKS_IDENTITY_JWT_ROLES',
    fallback: ['authenticated'],
    doc: 'Roles of ordinary users; a user JWT with another role is refused.',
  }),
  identityClientIpHeader: text({
    env: 'WEBHOOKS_IDENTITY_CLIENT_IP_HEADER',
    optional: true,
    pattern: /^[A-Za-z0-9-]{1,64}$/,
    expected: 'a header name',
    doc: 'Header in which the identity server expects the address of the browser, so that not all users share one limit.',
  }),
  identityServiceToken: text({
    env: 'WEBHOOKS_IDENTITY_SERVICE_TOKEN',
    optional: true,
    secret: true,
    // Only the identity server knows whether it is accepted, and that may start later.
    pattern: /^[\w-]+\.[\w-]+\.[\w-]+$/,
    expected: 'a signed JWT: three parts with dots between them',
    doc: 'Admin JWT for the identity server: every refresh then asks whether the user still exists and is not banned.',
  }),
  identityEventsSecrets: parsed({
    env: 'WEBHOOKS_IDENTITY_EVENTS_SECRETS',
    secret: true,
    kind: 'list of `whsec_` secrets',
    fallback: [] as readonly Buffer[],
    fallbackDoc: 'account events are refused',
    parse: parseSigningKeys,
    doc: 'Secrets of the identity server’s account events (AUTH_EVENTS_SECRET), sent to `/internal/v1/account-events`: bans, sign-outs and deletions. Several for rotation.',
  }),
  signInUrl: httpUrl({
    env: 'WEBHOOKS_SIGN_IN_URL',
    optional: true,
    fallbackDoc: '`/ui` of the identity server as browsers reach it',
    doc: 'Sign-in page, as browsers reach it. It gets `redirect_to` and a PKCE challenge, and must be allowed to lead to `{base_url}/sign-in/callback*`.',
  }),
  redirectAllowList: list({
    env: 'WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST',
    fallback: [],
    item: allowListEntry,
    doc: 'https redirect URIs that clients may register: exact, or ending in `/*`. Empty allows none.',
  }),
  oauthResources: list({
    env: 'WEBHOOKS_OAUTH_RESOURCES',
    fallback: [],
    item: resourceIdentifier,
    doc: 'Further resource servers that tokens may be requested for (RFC 8707).',
  }),
  codeTtlSeconds: integer({
    env: 'WEBHOOKS_OAUTH_CODE_TTL_SECONDS',
    fallback: 300,
    min: 30,
    max: 600,
    doc: 'Life of an authorization code.',
  }),
  refreshReuseGraceSeconds: integer({
    env: 'WEBHOOKS_OAUTH_REFRESH_REUSE_GRACE_SECONDS',
    fallback: 10,
    max: 300,
    doc: 'How long a rotated refresh token may be used again. 0 allows no reuse.',
  }),
  grantMaxDays: integer({
    env: 'WEBHOOKS_OAUTH_GRANT_MAX_DAYS',
    fallback: 0,
    max: 3650,
    doc: 'Days after consent until refreshing ends; 0 means never.',
  }),
  introspectionClients: list({
    env: 'WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS',
    fallback: [],
    item: clientId,
    doc: 'Confidential clients that may introspect tokens; empty turns introspection off.',
  }),
  serviceDocumentation: httpUrl({
    env: 'WEBHOOKS_SERVICE_DOCUMENTATION',
    optional: true,
    doc: 'Page for developers, named in the discovery document.',
  }),
  allowedPorts: parsed({
    env: 'WEBHOOKS_ALLOWED_PORTS',
    kind: 'list of ports and ranges',
    fallback: parsePortRanges('443,1024-65535'),
    fallbackDoc: '`443,1024-65535`',
    parse: parsePortRanges,
    doc: 'Ports that the url of a webhook may have.',
  }),
  internalTokens: parsed({
    env: 'WEBHOOKS_INTERNAL_TOKENS',
    secret: true,
    kind: 'list of `name:sha256hex`',
    parse: parseServiceTokens,
    doc: 'Callers of the internal API; a name may appear twice for rotation.',
  }),
  v1CorsOrigins: list({
    env: 'WEBHOOKS_V1_CORS_ORIGINS',
    fallback: [],
    item: origin,
    doc: 'Origins of browser applications that may call /v1 and /mcp.',
  }),
  ...brandSettings('WEBHOOKS'),
  ...mailSettings,
  ...limitSettings,
})

export type WebhooksConfig = ConfigOf<typeof settings>
