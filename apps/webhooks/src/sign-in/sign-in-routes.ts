import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { SignedOutError, type FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import type { PageResponder } from '../pages/page-responder.js'
import { textsFor, type Texts } from '../pages/texts.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import { returnPath } from './return-path.js'
import { signInFailedPage } from './sign-in-failed-page.js'
import type { SignInOutcome, SignInService, SignInWish } from './sign-in-service.js'

type Deps = {
  config: { baseUrl: string }
  sessions: SessionService
  cookie: SessionCookie
  signIn: SignInService
  guard: FormGuard
  responder: PageResponder
  limits: Pick<Limits, 'authorize' | 'login' | 'address'>
}

/**
 * Redirects to the sign-in page and back, for every page that needs a person
 * (docs/specification.md#sign-in-and-sign-out-on-other-pages).
 */
export const signInRoutes = (deps: Deps): Route[] => [
  route({
    method: 'get',
    path: '/sign-in',
    docs: pageDocs('beginSignIn', 'Sign in, and go on at `return_to`, a path of this service'),
    limit: deps.limits.authorize,
    async handle({ req }) {
      const { config, sessions, cookie, signIn, responder } = deps
      const wanted = Parameters.fromQuery(req.originalUrl).get('return_to') ?? ''
      const returnTo = returnPath(wanted, config.baseUrl) ?? responder.path('/')
      const session = await sessions.findOrCreate(cookie.read(req))
      const isFresh = Parameters.fromQuery(req.originalUrl).get('fresh') === '1'
      const wish: SignInWish = isFresh ? { prompt: 'login', maxAge: 0 } : {}
      const isDone = session.accountId !== null && !isFresh
      const location = isDone ? returnTo : signIn.begin(session, returnTo, wish)
      return responder.redirect(302, location, session)
    },
  }),
  route({
    method: 'get',
    path: '/sign-in/callback',
    docs: pageDocs('finishSignIn', 'Where the sign-in page sends the browser back to'),
    async handle({ req, context }) {
      const parameters = Parameters.fromQuery(req.originalUrl)
      if (parameters.get('signed_out') !== undefined)
        return deps.responder.redirect(302, deps.responder.path('/'))
      const outcome = await deps.signIn.finish(
        await deps.sessions.find(deps.cookie.read(req)),
        { state: parameters.get('state') ?? '', code: parameters.get('code') },
        { clientIp: deps.limits.address(req), limit: async () => deps.limits.login(req, context) },
        context,
      )
      return answer(deps.responder, outcome, textsFor(req))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/sign-out',
    docs: pageDocs('signOut', 'End the session of this browser'),
    body: pageForm,
    async handle({ req, body }) {
      const signedOut = await endSession(deps, req, Parameters.fromForm(body))
      const location = deps.signIn.signOutAddress ?? deps.responder.path('/')
      return deps.responder.redirect(303, location, signedOut ?? undefined)
    },
  }),
]

/** Ends the session of the form. If it is over already, the one at the sign-in page may not be, so the person continues there. */
async function endSession(
  { guard, sessions }: Deps,
  req: Request,
  fields: Parameters,
): Promise<OpenSession | null> {
  try {
    const { session } = await guard.check(req, 'sign-out', fields)
    return await sessions.signOut(session)
  } catch (error) {
    if (error instanceof SignedOutError) return null
    throw error
  }
}

function answer(responder: PageResponder, outcome: SignInOutcome, t: Texts): Answer {
  if (outcome.kind === 'signed_in') return responder.redirect(302, outcome.returnTo, outcome.session)
  if (outcome.kind === 'nothing_to_do') return responder.redirect(302, outcome.returnTo)
  const { reason, returnTo, isSignedIn } = outcome
  const next = returnTo ?? responder.path(isSignedIn ? '/' : '/sign-in')
  const page = signInFailedPage(t, { reason, next, isSignedIn })
  return responder.render(page, { language: t.language, status: 400 })
}
