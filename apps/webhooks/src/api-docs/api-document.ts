import { openApiDocument, type JsonSchema, type Route } from '@signet/http'
import { deliveryComponents } from '../deliveries/delivery-schemas.js'
import { endpointComponents } from '../endpoints/endpoint-schemas.js'
import { ingestComponents } from '../ingest/ingest-schemas.js'
import { mcpComponents } from '../mcp/mcp-docs.js'
import { oauthComponents } from '../oauth/oauth-docs.js'
import { personalTokenComponents } from '../personal-tokens/personal-token-routes.js'
import { recoveryComponents } from '../recoveries/recovery-routes.js'
import { sampleComponents } from '../samples/sample-schemas.js'
import { commonComponents } from '../api/v1-docs.js'

const VERSION = '1.0.0'

/** Schemas that the public routes refer to. */
export const publicComponents: Readonly<Record<string, JsonSchema>> = {
  ...commonComponents,
  ...endpointComponents,
  ...deliveryComponents,
  ...recoveryComponents,
  ...sampleComponents,
  ...personalTokenComponents,
  ...oauthComponents,
  ...mcpComponents,
}

/** The OpenAPI document of the routes that the public listener runs. */
export const publicApiDocument = (routes: readonly Route[]): JsonSchema =>
  openApiDocument({
    title: 'Recording events API',
    version: VERSION,
    description:
      'Connect an application with OAuth 2.1 or a personal token, create subscriptions, and receive signed HTTPS POSTs when summaries of recordings are ready.',
    routes,
    schemas: publicComponents,
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'An OAuth access token with scope `mcp:connect`, or a personal token',
      },
      tokens: {
        type: 'http',
        scheme: 'bearer',
        description: 'An OAuth access token with scope `tokens:manage`, which the command-line tool gets',
      },
      user: {
        type: 'http',
        scheme: 'bearer',
        description: 'A JWT of the identity server, at most 15 minutes old',
      },
    },
  })

/** The same of the internal listener. It is never served: its readers have the repository. */
export const internalApiDocument = (routes: readonly Route[]): JsonSchema =>
  openApiDocument({
    title: 'Recording events API, internal',
    version: VERSION,
    description: 'For our own services on the private network. Never reachable through the public listener.',
    routes,
    schemas: { ...commonComponents, ...ingestComponents },
    securitySchemes: { service: { type: 'http', scheme: 'bearer', description: 'A service token' } },
  })
