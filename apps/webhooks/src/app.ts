import {
  atKnownTime,
  clientAddress,
  contextOf,
  errorHandler,
  metricsHandler,
  mountRoutes,
  notFoundHandler,
  requestContext,
  underOneLoopbackName,
  withShortcut,
  type Application,
  type MountOptions,
  type Route,
} from '@signet/http'
import express, {
  Router,
  type ErrorRequestHandler,
  type Express,
  type IRouter,
  type RequestHandler,
} from 'express'
import type { Authenticate } from './bearer/bearer-authentication.js'
import type { Context } from './context.js'
import { listedCors, MCP_HEADERS, publicCors } from './http/cors.js'
import { mcpErrorRenderer } from './http/mcp-error-renderer.js'
import { originCheck } from './http/origin-check.js'
import { NO_STORE, oauthErrorRenderer } from './http/oauth-error-renderer.js'
import { pageErrorRenderer } from './http/page-error-renderer.js'
import { withPages } from './http/browser-error-renderer.js'
import { REQUEST_TIMEOUT_MS } from './http/time-limit.js'
import { translateOutage } from './http/translate.js'
import { v1ErrorRenderer } from './http/v1-error-renderer.js'
import { MCP_PATH } from './mcp/mcp-path.js'
import { internalRoutes, publicRoutes } from './routes.js'

const NO_CACHE = { 'Cache-Control': 'no-store' }
/** Error code of the OAuth endpoints (RFC 6749 section 4.1.2.1). */
const OUTAGE = 'temporarily_unavailable'

/** The public listener. The order of middleware is its content. */
export function createPublicApp(ctx: Context): Express {
  const { config } = ctx
  const routes = publicRoutes(ctx)
  const rest: Family = {
    prefixes: [''],
    routes: [],
    errorRenderer: browserErrors(ctx),
    outageCode: OUTAGE,
  }
  const app = express().disable('x-powered-by').set('etag', false)
  app.use(withContext(ctx))
  mountHealth(app, ctx)
  app.use(new URL(config.baseUrl).pathname, createBaseRouter(ctx, routes))
  // If the base URL has a path, the well-known documents are outside that path (RFC 8414 section 3.1).
  app.use(
    serve(ctx, {
      ...rest,
      prefixes: ['/.well-known'],
      first: publicCors,
      routes: routes.undocumented.insertedDiscovery,
    }),
  )
  app.use(serve(ctx, rest))
  return app
}

/** Everything below the base URL. */
function createBaseRouter(ctx: Context, routes: ReturnType<typeof publicRoutes>): IRouter {
  const { config, observer, authenticateBearer } = ctx
  const oauth = {
    errorRenderer: oauthErrorRenderer('invalid_request', observer),
    headers: NO_STORE,
    outageCode: OUTAGE,
  }
  const registration = { ...oauth, errorRenderer: oauthErrorRenderer('invalid_client_metadata', observer) }
  const pages = {
    errorRenderer: pageErrors(ctx),
    outageCode: OUTAGE,
    first: underOneLoopbackName(config.baseUrl),
  }
  const mcpOrigins = [new URL(config.baseUrl).origin, ...config.v1CorsOrigins]
  const v1 = { errorRenderer: v1ErrorRenderer, headers: NO_CACHE, outageCode: 'unavailable' }
  const families: Family[] = [
    {
      ...v1,
      prefixes: ['/v1'],
      routes: routes.v1,
      first: listedCors(config.v1CorsOrigins),
      // Reveals nothing about /v1 to unauthenticated callers, not even which paths exist.
      authenticate: authenticateBearer,
    },
    {
      ...v1,
      prefixes: [MCP_PATH],
      routes: routes.mcp,
      errorRenderer: mcpErrorRenderer,
      first: [originCheck(mcpOrigins), listedCors(config.v1CorsOrigins, MCP_HEADERS)],
      authenticate: ctx.authenticateMcp,
    },
    { ...oauth, prefixes: ['/oauth/token', '/oauth/revoke'], routes: routes.token, first: publicCors },
    { ...oauth, prefixes: ['/oauth/introspect'], routes: routes.introspection },
    { ...registration, prefixes: ['/oauth/register'], routes: routes.register, first: publicCors },
    { ...pages, prefixes: ['/oauth/authorize', '/sign-in', '/sign-out'], routes: routes.pages },
    { ...pages, prefixes: ['/portal'], routes: routes.undocumented.portal },
    { ...v1, prefixes: ['/account'], routes: routes.account },
    { ...oauth, headers: {}, prefixes: ['/.well-known'], routes: routes.discovery, first: publicCors },
    {
      errorRenderer: browserErrors(ctx),
      outageCode: OUTAGE,
      prefixes: ['/', '/form.js', '/favicon.svg', '/favicon.ico', '/docs', '/docs.js', '/openapi.json'],
      routes: [...routes.undocumented.landing, ...routes.documentation],
    },
  ]
  const router = Router()
  for (const family of families) router.use(serve(ctx, family))
  return router
}

const pageErrors = ({ observer, responder }: Context) => pageErrorRenderer(observer, responder)

const browserErrors = (ctx: Context) =>
  withPages(oauthErrorRenderer('invalid_request', ctx.observer), pageErrors(ctx))

/** The internal listener, for the private network: metrics and ingest. */
export function createInternalApp(ctx: Context): Application {
  const app = express().disable('x-powered-by').set('etag', false)
  const before = [withContext(ctx), atKnownTime(ctx, isProbe)]
  app.use(...before)
  mountHealth(app, ctx)
  app.get('/metrics', metricsHandler(ctx.registry))
  const routes = mountRoutes(app, internalRoutes(ctx), {
    errorRenderer: v1ErrorRenderer,
    headers: NO_CACHE,
    timeoutMs: REQUEST_TIMEOUT_MS,
  })
  const onError = errorHandler({ errorRenderer: v1ErrorRenderer, translate: translateOutage('unavailable') })
  app.use(notFoundHandler(v1ErrorRenderer), onError)
  return withShortcut(app, { before, routes, onError })
}

const withContext = ({ config, log, registry }: Context): RequestHandler =>
  requestContext({
    log,
    registry,
    requestIdHeader: config.requestIdHeader,
    remoteAddress: (req) => clientAddress(req, config.trustProxyHops),
    quiet: isProbe,
  })

const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const isProbe = ({ path }: { path: string }): boolean => PROBES.has(path)

function mountHealth(app: Express, { health }: Context): void {
  app.get('/healthz', health.live)
  app.get('/readyz', health.ready)
}

/** Routes below some path prefixes that share an error format. */
type Family = Omit<MountOptions, 'authenticate'> & {
  /** Without trailing slashes. The empty prefix matches everything. */
  prefixes: readonly string[]
  routes: readonly Route[]
  /** Error code for when a service that we depend on is unavailable. */
  outageCode: string
  /** Runs before everything else of the family. */
  first?: RequestHandler | RequestHandler[]
  /** Runs before a 404 or 405, for APIs that answer unauthenticated callers only with 401. */
  authenticate?: Authenticate
}

/** Checks the prefix first, so that a request does not try every route of every family. */
function serve(
  ctx: Context,
  { prefixes, routes, first, authenticate, outageCode, ...options }: Family,
): RequestHandler {
  const { errorRenderer } = options
  const router = Router()
  if (first) router.use(first)
  router.use(atKnownTime(ctx))
  mountRoutes(router, routes, {
    ...options,
    timeoutMs: REQUEST_TIMEOUT_MS,
    ...(authenticate ? { authenticate } : {}),
  })
  if (authenticate) {
    router.use(async (req, res, next) => {
      await authenticate(req, contextOf(res))
      next()
    })
    // Before any of the above runs, the router rejects paths that it cannot decode.
    const onUndecodable: ErrorRequestHandler = async (error, req, res, next) => {
      if (error instanceof URIError) await authenticate(req, contextOf(res))
      next(error)
    }
    router.use(onUndecodable)
  }
  router.use(notFoundHandler(errorRenderer))
  router.use(errorHandler({ errorRenderer, translate: translateOutage(outageCode) }))
  const isOurs = (path: string) => prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
  return (req, res, next) => {
    if (isOurs(req.path)) router(req, res, next)
    else next()
  }
}
