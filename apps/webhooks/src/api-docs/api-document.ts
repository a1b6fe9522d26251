import type { JsonSchema, Route } from '@signet/http'
import { openApiDocument } from '@signet/http/open-api'
import { deliveryComponents } from '../deliveries/delivery-schemas.js'
import { endpointComponents } from '../endpoints/endpoint-schemas.js'
import { ingestComponents } from '../ingest/ingest-schemas.js'
import { mcpComponents } from '../mcp/mcp-docs.js'
import { oauthComponents } from '../oauth/oauth-docs.js'
import { personalTokenComponents } from '../personal-tokens/personal-token-routes.js'
import { recoveryComponents } from '../recoveries/recovery-schemas.js'
import { eventComponents } from '../samples/sample-schemas.js'
import { commonComponents, pathParameters } from '../api/v1-docs.js'
import { deliveredEvents, EVENTS_TAG } from './delivered-events.js'

const VERSION = '1.0.0'

/** Schemas that the public routes refer to. */
export const publicComponents: Readonly<Record<string, JsonSchema>> = {
  ...commonComponents,
  ...endpointComponents,
  ...deliveryComponents,
  ...recoveryComponents,
  ...eventComponents,
  ...personalTokenComponents,
  ...oauthComponents,
  ...mcpComponents,
}

/** The documentation page leaves these out: browsers reach them through the authorization endpoint. */
export const PAGES_TAG = 'Sign-in pages'

/** Descriptions of the tags, starting with those that most readers look for. */
export const publicTags = {
  Webhooks: 'Where events are sent, and which.',
  Deliveries: 'What was sent, and every attempt.',
  Recovery: 'Sending again what was missed.',
  'Signing secrets': 'Replacing the secret of a webhook without losing an event.',
  Samples: 'What events look like.',
  [EVENTS_TAG]: 'The requests that webhooks receive.',
  'Personal tokens': 'Tokens for scripts, created by the command-line tool.',
  'OAuth 2.1': 'Connecting an application.',
  Discovery: 'Where OAuth clients find everything.',
  MCP: 'The same operations as tools of the Model Context Protocol.',
  [PAGES_TAG]: 'Pages that browsers reach through the authorization endpoint.',
  Documentation: 'This API, for machines and for people.',
}

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

export const publicSecuritySchemes = {
  bearer: bearer('An OAuth access token with scope `mcp:connect`, or a personal token'),
  tokens: bearer('An OAuth access token with scope `tokens:manage`, which the command-line tool gets'),
  user: bearer('A JWT of the identity server, at most 15 minutes old'),
}

/** The OpenAPI document of the routes that the public listener runs. */
export const publicApiDocument = (routes: readonly Route[], server: string): JsonSchema =>
  openApiDocument({
    title: 'Recording events API',
    version: VERSION,
    description:
      'Connect an application with OAuth 2.1 or a personal token, create webhooks, and receive signed HTTPS POSTs when summaries of recordings are ready.',
    server,
    routes,
    tags: publicTags,
    pathParameters,
    schemas: publicComponents,
    webhooks: deliveredEvents(),
    securitySchemes: publicSecuritySchemes,
  })

/** The document of the internal listener. It is never served, because its readers have the repository. */
export const internalApiDocument = (routes: readonly Route[], server: string): JsonSchema =>
  openApiDocument({
    title: 'Recording events API, internal',
    version: VERSION,
    description: 'For our own services on the private network. Never reachable through the public listener.',
    server,
    routes,
    tags: {
      Internal: 'Recordings and their events, from the pipeline.',
      Accounts: 'What happens to accounts, from the identity server.',
    },
    pathParameters,
    schemas: { ...commonComponents, ...ingestComponents },
    securitySchemes: { service: bearer('A service token') },
  })
