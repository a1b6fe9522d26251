import { route, type Route } from '@signet/http'
import { type ClientService, type RegisteredClient } from './client-service.js'
import { type IpLimit } from '../limits/limits.js'

type Deps = { clients: ClientService; limit: IpLimit }

const MAX_BODY_BYTES = 64 * 1024

/** Dynamic client registration (webhooks contract B.4, RFC 7591). */
export const clientRoutes = ({ clients, limit }: Deps): Route[] => [
  route<undefined, Record<string, unknown>>({
    method: 'post',
    path: '/oauth/register',
    docs: {
      summary: 'Register a client',
      tag: 'oauth',
      responses: {
        201: { description: 'The client as it was registered' },
        400: { description: 'Refused metadata' },
      },
    },
    limit,
    body: { as: 'json', maxBytes: MAX_BODY_BYTES },
    async handle({ body }) {
      return { status: 201, body: view(await clients.register(body)) }
    },
  }),
]

/** Absent members are left out, never null: strict clients refuse null, and an empty secret. */
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
