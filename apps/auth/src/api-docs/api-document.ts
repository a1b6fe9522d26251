import { openApiDocument, type JsonSchema, type Route } from '@signet/http'
import { service } from '../config/version.js'
import { schemas } from './schemas.js'

const bearer = (description: string): JsonSchema => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description,
})

/** The OpenAPI document of a route table, without the routes that only report a missing feature. */
export const apiDocument = (routes: readonly Route[]): JsonSchema =>
  openApiDocument({
    title: service.description,
    version: service.version,
    description:
      'Accounts, sessions and tokens. Bodies are JSON; requests with `X-Supabase-Api-Version: 2024-01-01` get the newer responses.',
    routes: routes.filter(({ docs }) => docs.tag !== 'Not available'),
    securitySchemes: {
      user: bearer('An access token of a user.'),
      admin: bearer('A token whose role is one of AUTH_JWT_ADMIN_ROLES.'),
    },
    schemas,
  })
