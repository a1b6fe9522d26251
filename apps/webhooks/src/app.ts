import {
  clientAddress,
  contextOf,
  errorHandler,
  healthHandlers,
  metricsHandler,
  mountRoutes,
  notFoundHandler,
  requestContext,
  type Dialect,
} from '@signet/http'
import express, { Router, type Express, type IRouter, type RequestHandler } from 'express'
import { type Context } from './context.js'
import { listedCors, publicCors } from './http/cors.js'
import { NO_STORE, oauthDialect } from './http/oauth-dialect.js'
import { pageDialect } from './http/page-dialect.js'
import { translateOutage } from './http/translate.js'
import { v1Dialect } from './http/v1-dialect.js'
import { internalRoutes, publicRoutes } from './routes.js'

const REQUEST_TIMEOUT_MS = 30_000
const V1_HEADERS = { 'Cache-Control': 'no-store' }

/** The public listener. The order of middleware is its content. */
export function createPublicApp(ctx: Context): Express {
  const basePath = new URL(ctx.config.baseUrl).pathname
  const routes = publicRoutes(ctx)
  const discovery = oauthDialect('invalid_request', ctx.events)
  const app = createApp(ctx)
  mountHealth(app, ctx)

  app.use('/.well-known', publicCors)
  mountRoutes(app, routes.insertedDiscovery, { dialect: discovery })
  app.use(basePath, createBaseRouter(ctx, routes))
  closeFamily(app, '/', discovery, 'temporarily_unavailable')
  return app
}

/** Everything below the base URL. */
function createBaseRouter(ctx: Context, routes: ReturnType<typeof publicRoutes>): IRouter {
  const { config, events } = ctx
  const oauth = oauthDialect('invalid_request', events)
  const registration = oauthDialect('invalid_client_metadata', events)
  const pages = pageDialect(events, config.baseUrl.startsWith('https://'))
  const router = Router()
  const timeoutMs = REQUEST_TIMEOUT_MS

  router.use(['/.well-known', '/oauth/register', '/oauth/token', '/oauth/revoke'], publicCors)
  router.use('/v1', listedCors(config.v1CorsOrigins))
  mountRoutes(router, routes.discovery, { dialect: oauth })
  mountRoutes(router, routes.register, { dialect: registration, headers: NO_STORE, timeoutMs })
  mountRoutes(router, routes.token, { dialect: oauth, headers: NO_STORE, timeoutMs })
  mountRoutes(router, routes.pages, { dialect: pages, timeoutMs })
  mountRoutes(router, routes.documentation, { dialect: oauth })
  mountRoutes(router, routes.account, { dialect: v1Dialect, headers: V1_HEADERS, timeoutMs })
  mountRoutes(router, routes.v1, {
    dialect: v1Dialect,
    headers: V1_HEADERS,
    timeoutMs,
    authenticate: ctx.authenticateBearer,
  })

  // Strangers learn nothing about /v1, not even which paths exist.
  router.use('/v1', authenticated(ctx))
  closeFamily(router, ['/v1', '/account'], v1Dialect, 'unavailable')
  closeFamily(router, ['/oauth/authorize', '/oauth/callback'], pages, 'temporarily_unavailable')
  closeFamily(router, '/oauth/register', registration, 'temporarily_unavailable')
  closeFamily(router, '/', oauth, 'temporarily_unavailable')
  return router
}

const authenticated =
  (ctx: Context): RequestHandler =>
  async (req, res, next) => {
    await ctx.authenticateBearer(req, contextOf(res))
    next()
  }

/** The internal listener, for the private network: metrics and ingest. */
export function createInternalApp(ctx: Context): Express {
  const app = createApp(ctx)
  mountHealth(app, ctx)
  app.get('/metrics', metricsHandler(ctx.registry))
  mountRoutes(app, internalRoutes(ctx), {
    dialect: v1Dialect,
    headers: V1_HEADERS,
    timeoutMs: REQUEST_TIMEOUT_MS,
  })
  closeFamily(app, '/', v1Dialect, 'unavailable')
  return app
}

function createApp({ config, log, registry }: Context): Express {
  const app = express().disable('x-powered-by').set('etag', false)
  app.use(
    requestContext({
      log,
      registry,
      requestIdHeader: config.requestIdHeader,
      remoteAddress: (req) => clientAddress(req, config.trustProxyHops),
      quiet: (req) => QUIET.has(req.path),
    }),
  )
  return app
}

const QUIET: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

function mountHealth(app: Express, { db }: Context): void {
  const health = healthHandlers({ database: () => db.ping() })
  app.get('/healthz', health.live)
  app.get('/readyz', health.ready)
}

/** 404 and errors of everything below `path`, in the words of its API. */
function closeFamily(router: IRouter, path: string | string[], dialect: Dialect, outageCode: string): void {
  router.use(path, notFoundHandler(dialect))
  router.use(path, errorHandler({ dialect, translate: translateOutage(outageCode) }))
}
