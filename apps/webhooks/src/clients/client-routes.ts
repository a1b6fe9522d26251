import { route, type Route } from '@signet/http'
import type { ClientService, RegisteredClient } from './client-service.js'
import { ref } from '../schemas/schema-parts.js'
import type { IpLimit } from '../limits/limits.js'
import { oauthResponses, registerBody } from '../oauth/oauth-docs.js'

type Deps = { clients: ClientService; limit: IpLimit }

const MAX_BODY_BYTES = 64 * 1024

/** Dynamic client registration (docs/specification.md#client-registration, RFC 7591). */
export const clientRoutes = ({ clients, limit }: Deps): Route[] => [
  route<undefined, Record<string, unknown>>({
    method: 'post',
    path: '/oauth/register',
    docs: {
      operationId: 'registerClient',
      summary: 'Register a client',
      description: 'RFC 7591, open to everyone. Members that are not listed are ignored.',
      tag: 'OAuth 2.1',
      body: registerBody,
      responses: oauthResponses(201, ref('RegisteredClient'), 400),
    },
    limit,
    body: { as: 'json', maxBytes: MAX_BODY_BYTES },
    async handle({ body, context }) {
      return { status: 201, body: view(await clients.register(body, context)) }
    },
  }),
]

/** Absent members are left out, never null: strict clients reject null, and an empty secret. */
const view = (client: RegisteredClient) => ({
  client_id: client.clientId,
  client_id_issued_at: client.issuedAt,
  ...(client.secret === null ? {} : { client_secret: client.secret, client_secret_expires_at: 0 }),
  redirect_uris: client.redirectUris,
  client_name: client.clientName,
  token_endpoint_auth_method: client.authMethod,
  grant_types: client.grantTypes,
  response_types: ['code'],
  scope: client.scope,
  ...client.extra,
})
