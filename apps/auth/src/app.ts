import { brandOf } from '@signet/brand'
import {
  atKnownTime,
  errorHandler,
  healthHandlers,
  inOrder,
  mountRoutes,
  notFoundHandler,
  requestContext,
  withShortcut,
  type Application,
  type Route,
} from '@signet/http'
import express, { type RequestHandler } from 'express'
import { accountRoutes } from './account/account-routes.js'
import { adminRoutes } from './admin/admin-routes.js'
import { apiDocsRoutes } from './api-docs/api-docs-routes.js'
import type { AuthContext } from './context.js'
import { databaseError } from './database/database-error.js'
import { withPages } from './ui/browser-errors.js'
import { errorRenderer } from './requests/error-renderer.js'
import { pageErrorRenderer } from './ui/page-error-renderer.js'
import { factorRoutes } from './factors/factor-routes.js'
import { clientRecoveryCodeRoutes } from './factors/client-recovery-code-routes.js'
import { recoveryCodeRoutes } from './factors/recovery-code-routes.js'
import { identityRoutes } from './providers/identity-routes.js'
import { linkRoutes } from './providers/link-routes.js'
import { passkeyRoutes } from './passkeys/passkey-routes.js'
import { providerRoutes } from './providers/provider-routes.js'
import { inviteRoutes } from './invite/invite-routes.js'
import { otpRoutes } from './otp/otp-routes.js'
import { answerHeaders } from './requests/answer-headers.js'
import { cors } from './requests/cors.js'
import { logReferer } from './requests/log-referer.js'
import { settingsRoutes } from './settings/settings-routes.js'
import { unavailableRoutes } from './settings/unavailable-routes.js'
import { signUpRoutes } from './sign-up/sign-up-routes.js'
import { requestTelemetry } from './telemetry/request-telemetry.js'
import { tokenRoutes } from './sign-in/token-routes.js'
import { uiRouter } from './ui/ui-router.js'
import { verifyRoutes } from './verify/verify-routes.js'

/** Every route of the service; the server mounts this list and the docs print it. */
export function authRoutes(context: AuthContext): Route[] {
  const routes = [
    ...signUpRoutes(context),
    ...tokenRoutes(context),
    ...otpRoutes(context),
    ...verifyRoutes(context),
    ...accountRoutes(context),
    ...identityRoutes(context),
    // Before the routes of factors, whose id could be these words.
    ...clientRecoveryCodeRoutes(context),
    ...factorRoutes(context),
    ...recoveryCodeRoutes(context),
    ...passkeyRoutes(context),
    ...providerRoutes(context),
    ...linkRoutes(context),
    ...inviteRoutes(context),
    ...adminRoutes(context),
    ...settingsRoutes(context),
    ...unavailableRoutes(),
  ]
  const { config } = context
  const look = { brand: brandOf(config), icon: config.uiEnabled ? '/ui/icon' : undefined }
  return [...routes, ...apiDocsRoutes(routes, { baseUrl: config.apiExternalUrl, ...look })]
}

/** The Express application, with its shortcut for common requests; the order of its middleware is its content. */
export function createApp(context: AuthContext): Application {
  const { config, log, registry, guard, observer, tracing, audiences } = context
  const app = express().disable('x-powered-by').disable('etag')
  const withContext = requestContext({
    log,
    registry,
    requestIdHeader: config.requestIdHeader,
    quiet: isProbe,
    remoteAddress: (req) => guard.ipOf(req),
  })
  const before = [
    withContext,
    answerHeaders,
    ...(config.metricsEnabled || tracing ? [requestTelemetry(observer, tracing)] : []),
    logReferer,
    // Before the CORS headers, which are for API callers on other sites and not for these pages.
    ...(config.uiEnabled ? [uiRouter(context, databaseError)] : []),
    cors(config.corsAllowedHeaders),
    atKnownTime(context, isProbe),
    audiences.check,
  ]
  app.use(inOrder(...before))
  const renderer = withPages(errorRenderer, pageErrorRenderer(config))
  const routes = mountRoutes(app, authRoutes(context), {
    errorRenderer: renderer,
    timeoutMs: config.apiMaxRequestDuration,
  })
  app.get('/readyz', readiness(context))
  app.use(notFoundHandler(renderer))
  const onError = errorHandler({ errorRenderer: renderer, translate: databaseError })
  app.use(onError)
  return withShortcut(app, { before, routes, onError })
}

const isProbe = ({ path }: { path: string }): boolean => path === '/health' || path === '/readyz'

const readiness = ({ db, clock, isRedisReady, drain, log }: AuthContext): RequestHandler =>
  healthHandlers({
    required: {
      async database() {
        await db.ping()
        // Adjust the clock before any request is dated by it.
        await clock.adjust()
      },
    },
    // Without Redis, each replica counts its limits by itself (decision 0155).
    optional: isRedisReady && { redis: isRedisReady },
    drain,
    log,
  }).ready
