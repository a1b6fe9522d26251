import { brandOf } from '@signet/brand'
import type { AppError } from '@signet/errors'
import {
  atKnownTime,
  errorHandler,
  mountRoutes,
  notFoundHandler,
  underOneLoopbackName,
  type Route,
} from '@signet/http'
import { prefersHtml } from '@signet/http/browsers'
import { brandIcon } from '@signet/pages'
import { Router, type RequestHandler } from 'express'
import type { AuthConfig } from '../config/config.js'
import { addressChangeRules } from '../services/message-settings.js'
import { factorRules, signUpRules } from '../services/part-settings.js'
import { Redirects } from '../redirects/redirects.js'
import { BrowserState } from './context/browser-state.js'
import { SignInPages } from './context/sign-in-pages.js'
import { pageErrorRenderer } from './page-error-renderer.js'
import { Progress } from './context/progress.js'
import { accountAddressRoutes } from './routes/account-address-routes.js'
import { accountDeletionRoutes } from './routes/account-deletion-routes.js'
import { accountFactorRoutes } from './routes/account-factor-routes.js'
import { accountHomeRoutes } from './routes/account-home-routes.js'
import { accountPasskeyRoutes } from './routes/account-passkey-routes.js'
import { accountRoutes } from './routes/account-routes.js'
import { forgotRoutes, phoneRoutes } from './routes/address-routes.js'
import { codeRoutes } from './routes/code-routes.js'
import { factorRoutes } from './routes/factor-routes.js'
import { landingRoutes } from './routes/landing-routes.js'
import { linkRoutes } from './routes/link-routes.js'
import { messageIntervals } from './message-intervals.js'
import { operatorRoutes } from './routes/operator-routes.js'
import { passkeyRoutes } from './routes/passkey-routes.js'
import { passwordRoutes } from './routes/password-routes.js'
import { reloadRoutes } from './routes/reload-routes.js'
import { returnRoutes } from './routes/return-routes.js'
import { signInRoutes } from './routes/sign-in-routes.js'
import { signUpRoutes } from './routes/sign-up-routes.js'
import { uiReturnUrl } from './return-url.js'
import type { UiContext, UiDeps } from './context/ui-deps.js'
import { keysWorkHere, waysIn } from './context/ways-in.js'

const PREFIX = '/ui'

/** Serves the pages for people: `/ui` and everything below it, and `/` for browsers. Passes on all other requests. */
export function uiRouter(
  context: UiContext,
  translate: (error: unknown) => AppError | undefined,
): RequestHandler {
  const { config } = context
  const errorRenderer = pageErrorRenderer(config)
  const router = Router()
  router.use(underOneLoopbackName(config.apiExternalUrl))
  router.use(atKnownTime(context))
  mountRoutes(router, uiRoutes(uiDeps(context), config), {
    errorRenderer,
    timeoutMs: config.apiMaxRequestDuration,
  })
  router.use(notFoundHandler(errorRenderer))
  router.use(errorHandler({ errorRenderer, translate }))
  return (req, res, next) => {
    const isPage = req.path === PREFIX || req.path.startsWith(`${PREFIX}/`) || req.path === '/favicon.ico'
    if (isPage || (req.path === '/' && prefersHtml(req))) router(req, res, next)
    else next()
  }
}

/** All pages, and the forms on them. */
export const uiPageRoutes = (context: UiContext): Route[] => pageRoutes(uiDeps(context), context.config)

/** Disabled features have no routes. */
function uiRoutes(deps: UiDeps, config: AuthConfig): Route[] {
  const routes = pageRoutes(deps, config)
  return [...routes, ...reloadRoutes(deps, routes)]
}

function pageRoutes(deps: UiDeps, { uiOperatorEnabled }: AuthConfig): Route[] {
  const { ways } = deps
  return [
    ...landingRoutes(deps),
    ...signInRoutes(deps),
    ...accountRoutes(deps),
    ...accountHomeRoutes(deps),
    ...accountAddressRoutes(deps),
    ...accountFactorRoutes(deps),
    ...accountDeletionRoutes(deps),
    ...returnRoutes(deps),
    ...codeRoutes(deps),
    ...linkRoutes(deps),
    ...factorRoutes(deps),
    ...passwordRoutes(deps),
    ...(ways.passkey ? [...passkeyRoutes(deps), ...accountPasskeyRoutes(deps)] : []),
    ...(ways.signUp ? signUpRoutes(deps) : []),
    ...(ways.email ? forgotRoutes(deps) : []),
    ...(ways.phone ? phoneRoutes(deps) : []),
    ...(uiOperatorEnabled ? operatorRoutes(deps) : []),
  ]
}

function uiDeps(context: UiContext): UiDeps {
  const { config, now, cookies, gate, sessions, flowExchanges, accessTokens } = context
  const state = new BrowserState({ key: context.pageKey, cookies, now })
  // Without the return URL of these pages, which only emails from the pages may use.
  const redirects = new Redirects(config)
  const brand = brandOf(config)
  const pages = new SignInPages({ externalUrl: config.apiExternalUrl, state, redirects, brand })
  const { enroll, verify } = factorRules(config)
  const progress = new Progress({
    pages,
    state,
    gate,
    sessions,
    flowExchanges,
    accessTokens,
    factorRules: { verify },
    externalUrl: config.apiExternalUrl,
    sessionMs: config.uiSessionDuration,
    now,
  })
  return {
    ...context,
    aud: config.jwtAud,
    adminRoles: config.jwtAdminRoles,
    siteUrl: config.siteUrl,
    icon: brandIcon(brand),
    messageIntervals: messageIntervals(config),
    linksMayGoOn: config.uiOtherDeviceEnabled && config.uiLinkConfirmation !== 'off',
    ways: waysIn(config, context.providers.withButton),
    account: {
      linking: config.manualLinkingEnabled,
      factors: {
        totp: enroll.totp && verify.totp,
        phone: enroll.phone && verify.phone,
        webauthn: enroll.webauthn && verify.webauthn && keysWorkHere(config),
      },
      changeIntervalMs: addressChangeRules(config).intervalMs,
      setupMs: config.mfaChallengeExpiryDuration,
      deletion: config.accountDeletionEnabled,
      deletionGraceMs: config.accountDeletionGrace,
      bothAddresses: config.mailerSecureEmailChangeEnabled,
    },
    minPasswordLength: signUpRules(config).passwords.minLength,
    pages,
    state,
    progress,
    returnUrl: uiReturnUrl(config),
  }
}
