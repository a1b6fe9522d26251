import type { JsonSchema, ResponseDoc, Route, RouteDocs } from '@signet/http'
import { openApiDocument } from '@signet/http/open-api'
import { service } from '../version.js'
import { errorDoc, type Tag } from '../requests/docs.js'
import { errorPagesOf } from '../ui/browser-errors.js'
import { schemas } from './schemas.js'

const bearer = (description: string) => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description,
})

const uuid = (description: string) => ({ schema: { type: 'string', format: 'uuid' }, description })

export const pathParameters = {
  user_id: uuid('The user.'),
  factor_id: uuid('The factor.'),
  identity_id: uuid('The identity.'),
}

export const securitySchemes = {
  user: bearer('An access token of a user.'),
  admin: bearer('A token whose role is one of AUTH_JWT_ADMIN_ROLES.'),
}

/** Descriptions of the tags. Those that most readers look for come first. */
export const tags: Readonly<Record<Exclude<Tag, 'Not available'>, string>> = {
  'Sign-in': 'Signing up, and the ways to a session.',
  Verification: 'Links and codes that were sent.',
  Account: 'The signed-in user.',
  Passkeys: 'Signing in with a passkey, and the passkeys of the signed-in user',
  Factors: 'Second factors of the signed-in user.',
  Administration: 'Users, links and the audit log, for services.',
  Service: 'The service itself.',
}

/** The routes in the documents, without those that only report a missing feature. */
export const documentedRoutes = (routes: readonly Route[]): Route[] =>
  routes
    .filter(({ docs }) => docs.tag !== 'Not available')
    .map((route) => ({ ...route, docs: { ...route.docs, responses: withCommonErrors(route) } }))

/**
 * Adds the errors that follow from how a route is declared, such as 429 for one with a limit, and describes errors as pages where people
 * open the route with a browser.
 */
function withCommonErrors({ method, path, body, limit, docs }: Route): RouteDocs['responses'] {
  const statuses = [400, ...(body ? [408, 413] : []), ...(limit ? [429] : []), 500, 503, 504]
  const common = statuses.map((status) => [status, errorDoc(status)] as const)
  const readers = errorPagesOf(method.toUpperCase(), path)
  const responses: RouteDocs['responses'] = { ...Object.fromEntries(common), ...docs.responses }
  const all = Object.entries(responses).map(([status, response]) => [
    status,
    Number(status) < 400 || readers === 'nobody' ? response : asPage(response, readers === 'everyone'),
  ])
  return Object.fromEntries(all) as RouteDocs['responses']
}

const asPage = (response: ResponseDoc, only: boolean): ResponseDoc =>
  only ? { description: response.description, ...HTML } : { ...response, orPage: true }
const HTML = { schema: { type: 'string' }, mediaType: 'text/html' }

/** The OpenAPI document of a route table. */
export const apiDocument = (routes: readonly Route[], server: string): JsonSchema =>
  openApiDocument({
    title: service.description,
    version: service.version,
    description:
      'Accounts, sessions and tokens. Bodies are JSON; members that are null count as absent. Requests with `X-Supabase-Api-Version: 2024-01-01` get the newer responses.',
    server,
    routes: documentedRoutes(routes),
    tags,
    pathParameters,
    securitySchemes,
    schemas,
  })
