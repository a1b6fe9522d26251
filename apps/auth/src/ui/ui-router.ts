import type { AppError } from '@signet/errors'
import { errorHandler, mountRoutes, notFoundHandler, route, type Route } from '@signet/http'
import { formScript } from '@signet/pages'
import { Router, type RequestHandler } from 'express'
import { factorRules, signUpRules } from '../services/part-settings.js'
import { Redirects } from '../redirects/redirects.js'
import { BrowserState } from './context/browser-state.js'
import { SignInPages, pageDocs } from './context/sign-in-pages.js'
import { pageErrorRenderer } from './page-error-renderer.js'
import { Progress } from './context/progress.js'
import { accountRoutes } from './routes/account-routes.js'
import { forgotRoutes, phoneRoutes } from './routes/address-routes.js'
import { codeRoutes } from './routes/code-routes.js'
import { factorRoutes } from './routes/factor-routes.js'
import { passwordRoutes } from './routes/password-routes.js'
import { returnRoutes } from './routes/return-routes.js'
import { signInRoutes } from './routes/sign-in-routes.js'
import { signUpRoutes } from './routes/sign-up-routes.js'
import { uiReturnUrl } from './return-url.js'
import type { UiContext, UiDeps } from './context/ui-deps.js'
import { waysIn } from './context/ways-in.js'

const PREFIX = '/ui'

/** The sign-in page for people; handles paths below `/ui` and passes on everything else. */
export function uiRouter(
  context: UiContext,
  translate: (error: unknown) => AppError | undefined,
): RequestHandler {
  const { config } = context
  const errorRenderer = pageErrorRenderer(config.apiExternalUrl.startsWith('https:'))
  const router = Router()
  mountRoutes(router, uiRoutes(uiDeps(context)), { errorRenderer, timeoutMs: config.apiMaxRequestDuration })
  router.use(notFoundHandler(errorRenderer))
  router.use(errorHandler({ errorRenderer, translate }))
  return (req, res, next) => {
    if (req.path === PREFIX || req.path.startsWith(`${PREFIX}/`)) router(req, res, next)
    else next()
  }
}

/** Disabled sign-in methods have no routes. */
function uiRoutes(deps: UiDeps): Route[] {
  const { ways } = deps
  return [
    scriptRoute,
    ...signInRoutes(deps),
    ...accountRoutes(deps),
    ...returnRoutes(deps),
    ...codeRoutes(deps),
    ...factorRoutes(deps),
    ...passwordRoutes(deps),
    ...(ways.signUp ? signUpRoutes(deps) : []),
    ...(ways.email ? forgotRoutes(deps) : []),
    ...(ways.phone ? phoneRoutes(deps) : []),
  ]
}

const scriptRoute = route({
  method: 'get',
  path: '/ui/form.js',
  docs: pageDocs('The script of the pages'),
  handle: () => formScript.answer,
})

function uiDeps(context: UiContext): UiDeps {
  const { config, now, cookies, gate, sessions, flowExchanges, accessTokens } = context
  const state = new BrowserState({ key: context.pageKey, cookies, now })
  // Without the return URL of these pages, which is only for emails the pages send themselves.
  const redirects = new Redirects(config)
  const pages = new SignInPages({ externalUrl: config.apiExternalUrl, state, redirects })
  const progress = new Progress({
    pages,
    state,
    gate,
    sessions,
    flowExchanges,
    accessTokens,
    factorRules: factorRules(config),
    externalUrl: config.apiExternalUrl,
    sessionMs: config.uiSessionDuration,
    now,
  })
  return {
    ...context,
    aud: config.jwtAud,
    ways: waysIn(config, context.providers.withButton),
    minPasswordLength: signUpRules(config).passwords.minLength,
    pages,
    state,
    progress,
    returnUrl: uiReturnUrl(config),
  }
}
