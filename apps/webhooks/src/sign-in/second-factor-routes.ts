import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import type { AuthorizationPages, AuthorizationContext } from '../authorization/authorization-pages.js'
import { findAuthorizationContext } from '../authorization/authorization-routes.js'
import type { AuthorizationService } from '../authorization/authorization-service.js'
import type { Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { SessionService } from '../sessions/session-service.js'
import type { FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { SecondFactorService } from './second-factor-service.js'

type Deps = {
  authorizations: AuthorizationService
  pages: AuthorizationPages
  sessions: SessionService
  cookie: SessionCookie
  secondFactor: SecondFactorService
  guard: FormGuard
  limits: Pick<Limits, 'login' | 'address'>
}

const WRONG_CODE = 'This code is wrong or has expired.'
const NOT_SENT = 'No code could be sent. Please wait a minute and try again.'

/** The second step of signing in, for accounts that have one. */
export const secondFactorRoutes = (deps: Deps): Route[] => [
  route({
    method: 'get',
    path: '/oauth/authorize/factor',
    docs: pageDocs('getSecondFactorPage', 'Second factor of a pending sign-in'),
    async handle({ req }) {
      const session = await deps.sessions.find(deps.cookie.read(req))
      const txn = Parameters.fromQuery(req.originalUrl).get('txn') ?? ''
      return show(deps, await findAuthorizationContext(deps, session, txn))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/challenge',
    docs: pageDocs('chooseSecondFactor', 'Choose a second factor; a phone is sent a code'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body, context: meta }) {
      const fields = Parameters.fromForm(body)
      const context = await check(deps, req, 'challenge', fields)
      const chosen = await deps.secondFactor.choose(
        context.session,
        fields.get('factor') ?? '',
        deps.limits.address(req),
        meta,
      )
      if (!chosen) return show(deps, context, { status: 400, notice: NOT_SENT })
      return deps.pages.redirect(303, deps.pages.step('factor', context.txn))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/factor',
    docs: pageDocs('verifySecondFactor', 'Answer the second factor'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body, context: meta }) {
      const fields = Parameters.fromForm(body)
      const context = await check(deps, req, 'factor', fields)
      const code = (fields.get('code') ?? '').replaceAll(' ', '')
      const signedIn = await deps.secondFactor.verify(context.session, code, deps.limits.address(req), meta)
      if (!signedIn) return show(deps, context, { status: 400, notice: WRONG_CODE })
      return deps.pages.toConsent(context.txn, signedIn)
    },
  }),
]

async function check(
  deps: Deps,
  req: Request,
  form: 'factor' | 'challenge',
  fields: Parameters,
): Promise<AuthorizationContext> {
  const { session, txn } = await deps.guard.check(req, form, fields)
  return findAuthorizationContext(deps, session, txn)
}

/** The factor page, or the sign-in page when there is no first step to go on from. */
function show(
  { pages, secondFactor }: Deps,
  context: AuthorizationContext,
  extras: { status?: number; notice?: string } = {},
): Answer | Promise<Answer> {
  const pending = secondFactor.pending(context.session)
  return pending ? pages.secondFactor(context, pending, extras) : pages.next(context)
}
