import { route, type Route } from '@signet/http'
import type { RequestMeta } from '@signet/telemetry'
import type { Request } from 'express'
import { clientCredentials } from '../clients/client-credentials.js'
import type { AuthenticatedClient, ClientService } from '../clients/client-service.js'
import { sha256 } from '../credentials/credential.js'
import { ref } from '../schemas/schema-parts.js'
import type { Limits } from '../limits/limits.js'
import { oauthResponses, singleTokenBody, tokenBody } from '../oauth/oauth-docs.js'
import { OAuthError } from '../oauth/oauth-error.js'
import { Parameters } from '../oauth/parameters.js'
import type { RevocationService } from './revocation-service.js'
import type { IssuedTokens, TokenService } from './token-service.js'

type Deps = {
  clients: ClientService
  tokens: TokenService
  revocations: RevocationService
  limits: Pick<Limits, 'token' | 'revoke' | 'clientFailures' | 'network'>
}

type Form = Record<string, unknown>

const form = { as: 'form', maxBytes: 16 * 1024 } as const

/** The token endpoint (docs/specification.md#token-requests). */
export const tokenRoutes = (deps: Deps): Route[] => [
  route<undefined, Form>({
    method: 'post',
    path: '/oauth/token',
    docs: {
      operationId: 'createOAuthToken',
      summary: 'Exchange an authorization code or a refresh token',
      tag: 'OAuth 2.1',
      body: tokenBody,
      responses: oauthResponses(200, ref('Tokens'), 400, 401),
    },
    limit: deps.limits.token,
    body: form,
    async handle({ req, body, context }) {
      const { client, parameters } = await authenticatedForm(deps, req, body)
      return { status: 200, body: view(await issue(deps.tokens, client, parameters, context)) }
    },
  }),
  route<undefined, Form>({
    method: 'post',
    path: '/oauth/revoke',
    docs: {
      operationId: 'revokeOAuthToken',
      summary: 'Revoke an access token, or a refresh token with its grant (RFC 7009)',
      description: 'Succeeds without doing anything if the token is unknown or belongs to another client.',
      tag: 'OAuth 2.1',
      body: singleTokenBody,
      responses: oauthResponses(200, { type: 'object', maxProperties: 0 }, 400, 401),
    },
    limit: deps.limits.revoke,
    body: form,
    async handle({ req, body, context }) {
      const { client, parameters } = await authenticatedForm(deps, req, body)
      await deps.revocations.revoke(client, parameters.require('token'), context)
      // RFC 7009 tells clients to ignore the body, but some reject an answer that is not JSON, and then do not revoke their other
      // token.
      return { status: 200, body: {} }
    },
  }),
]

/** Introspection (RFC 7662). Mounted only if the operator named clients that may use it. */
export const introspectionRoutes = (deps: Deps): Route[] => [
  route<undefined, Form>({
    method: 'post',
    path: '/oauth/introspect',
    docs: {
      operationId: 'introspectOAuthToken',
      summary: 'Describe a token to a resource server (RFC 7662)',
      description: 'Only for clients that the operator listed.',
      tag: 'OAuth 2.1',
      body: singleTokenBody,
      responses: oauthResponses(200, ref('Introspection'), 400, 401, 404),
    },
    limit: deps.limits.revoke,
    body: form,
    async handle({ req, body, context }) {
      const { client, parameters } = await authenticatedForm(deps, req, body)
      return {
        status: 200,
        body: await deps.revocations.introspect(client, parameters.require('token'), context),
      }
    },
  }),
]

function issue(
  tokens: TokenService,
  client: AuthenticatedClient,
  parameters: Parameters,
  meta: RequestMeta,
): Promise<IssuedTokens> {
  const grantType = parameters.require('grant_type')
  if (grantType === 'authorization_code') return tokens.redeem(client, parameters, meta)
  if (grantType === 'refresh_token') return tokens.refresh(client, parameters, meta)
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token')
}

/**
 * The first step of the token, revocation and introspection endpoints: reads a form without repeated fields, and authenticates its
 * client.
 */
async function authenticatedForm(
  deps: Pick<Deps, 'clients' | 'limits'>,
  req: Request,
  body: Form,
): Promise<{ client: AuthenticatedClient; parameters: Parameters }> {
  const parameters = Parameters.fromForm(body)
  parameters.refuseRepetition()
  return { client: await authenticateClient(deps, req, parameters), parameters }
}

/** Limits failures per client and address. */
async function authenticateClient(
  { clients, limits }: Pick<Deps, 'clients' | 'limits'>,
  req: Request,
  parameters: Parameters,
): Promise<AuthenticatedClient> {
  const credentials = clientCredentials(req, {
    client_id: parameters.get('client_id'),
    client_secret: parameters.get('client_secret'),
  })
  try {
    return await clients.authenticate(credentials)
  } catch (error) {
    const isFailure = error instanceof OAuthError && error.code === 'invalid_client'
    if (isFailure)
      await limits.clientFailures.consume(
        `${sha256(credentials.clientId).toString('base64url')} ${limits.network(req)}`,
      )
    throw error
  }
}

/** The response has exactly these members, and none of them is null. */
const view = (issued: IssuedTokens) => ({
  access_token: issued.accessToken,
  token_type: 'Bearer',
  expires_in: issued.expiresInSeconds,
  ...(issued.refreshToken === null ? {} : { refresh_token: issued.refreshToken }),
  scope: issued.scope,
  email: issued.email,
})
