import { brandOf } from '@signet/brand'
import type { Route } from '@signet/http'
import { apiDocsRoutes } from './api-docs/api-docs-routes.js'
import { publicComponents } from './api-docs/api-document.js'
import { authorizationRoutes } from './authorization/authorization-routes.js'
import { clientRoutes } from './clients/client-routes.js'
import type { Context } from './context.js'
import { discoveryRoutes, insertedDiscoveryRoutes } from './discovery/discovery-routes.js'
import { introspectionRoutes, tokenRoutes } from './grants/token-routes.js'
import { waysBack } from './forms/ways-back.js'
import { translateOutage } from './http/translate.js'
import { internalApiRoutes } from './internal-routes.js'
import { landingRoutes } from './landing/landing-routes.js'
import { MCP_PATH } from './mcp/mcp-path.js'
import { mcpRoutes } from './mcp/mcp-routes.js'
import { toolsOf } from './mcp/tool.js'
import { portalRoutes } from './portal/portal-routes.js'
import { personalTokenRoutes } from './personal-tokens/personal-token-routes.js'
import { signInRoutes } from './sign-in/sign-in-routes.js'
import { v1Routes } from './v1-routes.js'

/** Every route of the public listener, grouped by error format (see app.ts). */
export function publicRoutes(ctx: Context) {
  const { config, limits } = ctx
  const discovery = {
    baseUrl: config.baseUrl,
    introspection: config.introspectionClients.length > 0,
    serviceDocumentation: config.serviceDocumentation,
  }
  const v1 = v1Routes({ bearer: ctx.authenticateBearer, limits, services: ctx.webhooks })
  const signInPages = [...authorizationRoutes({ ...ctx, limit: limits.authorize }), ...signInRoutes(ctx)]
  const routes = {
    discovery: discoveryRoutes(discovery),
    register: clientRoutes({ clients: ctx.clients, limit: limits.register }),
    token: tokenRoutes(ctx),
    introspection: discovery.introspection ? introspectionRoutes(ctx) : [],
    // No page above these forms has anything to show on its own.
    pages: [...signInPages, ...waysBack(ctx.responder, { forms: signInPages, pages: new Set() })],
    account: personalTokenRoutes(ctx),
    v1,
    mcp: mcpRoutes({
      url: `${config.baseUrl}${MCP_PATH}`,
      authenticate: ctx.authenticateMcp,
      limit: limits.v1,
      results: limits.results,
      tools: toolsOf(v1, publicComponents),
      observer: ctx.mcpObserver,
      translate: translateOutage('unavailable'),
    }),
  } satisfies Record<string, Route[]>
  return {
    ...routes,
    undocumented: {
      /** Relative to the origin, not to the base URL. */
      insertedDiscovery: insertedDiscoveryRoutes(discovery),
      /** Pages for people, not an API. */
      landing: landingRoutes(ctx),
      portal: portalRoutes({ ...ctx, ...ctx.webhooks }),
    },
    documentation: apiDocsRoutes({
      baseUrl: config.baseUrl,
      brand: brandOf(config),
      routes: Object.values(routes).flat(),
    }),
  }
}

/** Every route of the internal listener. */
export const internalRoutes = ({ config, accounts, webhooks, observer, now }: Context): Route[] =>
  internalApiRoutes({
    tokens: config.internalTokens,
    accounts,
    services: webhooks,
    observer,
    now,
    eventKeys: config.identityEventsSecrets,
    translate: translateOutage('unavailable'),
  })
