import { AppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import { captchaFields } from '@signet/pages'
import type { AuthorizationPages } from '../authorization/authorization-pages.js'
import { findAuthorizationContext } from '../authorization/authorization-routes.js'
import type { AuthorizationService } from '../authorization/authorization-service.js'
import type { Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { SessionService } from '../sessions/session-service.js'
import type { FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { SignInOptions } from '../pages/sign-in-options.js'
import type { SignInService } from './sign-in-service.js'

type SignInDeps = {
  authorizations: AuthorizationService
  pages: AuthorizationPages
  sessions: SessionService
  signIn: SignInService
  signInOptions: SignInOptions
  guard: FormGuard
  limits: Pick<Limits, 'login' | 'address'>
}

// One text for wrong, unknown, unconfirmed and banned: the page must not tell who has an account.
const REFUSED = 'Sign-in failed. Check the address and password, and that your address is confirmed.'

/** Signing in and out on the way to consent (docs/specification.md#sign-in-and-consent). */
export const signInRoutes = (deps: SignInDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/login',
    docs: pageDocs('signInWithPassword', 'Sign in with email or phone number and password'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body, context: meta }) {
      const fields = Parameters.fromForm(body)
      const { session, txn } = await deps.guard.check(req, 'login', fields)
      const context = await findAuthorizationContext(deps, session, txn)
      const { identifier, captchaToken } = credentialsOf(fields)
      const password = fields.get('password')
      if (identifier === '' || password === undefined)
        return deps.pages.signIn(context, { status: 400, identifier, notice: REFUSED })
      const outcome = await deps.signIn.withPassword(
        session,
        { identifier, password, captchaToken },
        deps.limits.address(req),
        meta,
      )
      if (outcome.kind === 'refused')
        return deps.pages.signIn(context, { status: 400, identifier, notice: REFUSED })
      if (outcome.kind === 'second_factor') return deps.pages.redirect(303, deps.pages.step('factor', txn))
      return deps.pages.toConsent(txn, outcome.session)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/logout',
    docs: pageDocs('signOut', 'End the session to use another account'),
    body: pageForm,
    async handle({ req, body }) {
      const { session, txn } = await deps.guard.check(req, 'logout', Parameters.fromForm(body))
      await findAuthorizationContext(deps, session, txn)
      // Without an account the consent page is the sign-in page; a redirect so that reloading posts nothing again.
      return deps.pages.toConsent(txn, (await deps.sessions.signOut(session)) ?? session)
    },
  }),
  ...(deps.signInOptions.magicLink ? [mailRoute(deps)] : []),
]

const mailRoute = (deps: SignInDeps): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/mail',
    docs: pageDocs('requestSignInLink', 'Ask for a sign-in link by email'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body, context: meta }): Promise<Answer> {
      const fields = Parameters.fromForm(body)
      // A second button of the sign-in form, so it carries that form's token.
      const { session, txn } = await deps.guard.check(req, 'login', fields)
      const context = await findAuthorizationContext(deps, session, txn)
      const { identifier, captchaToken } = credentialsOf(fields)
      if (!identifier.includes('@'))
        return deps.pages.signIn(context, { status: 400, identifier, notice: 'Enter your email address.' })
      const redirectTo = deps.pages.callbackUrl(txn)
      await deps.signIn.requestLink(identifier, { redirectTo, captchaToken }, deps.limits.address(req), meta)
      return deps.pages.mailSent(context, identifier)
    },
  })

/** The landing page of sign-ins that the identity server did itself, and what its script posts. */
export const callbackRoutes = (deps: SignInDeps & { cookie: SessionCookie }): Route[] => [
  route({
    method: 'get',
    path: '/oauth/callback',
    docs: pageDocs('getSignInCallback', 'Landing page of sign-ins by email or an external provider'),
    async handle({ req }) {
      const session = await deps.sessions.find(deps.cookie.read(req))
      const txn = Parameters.fromQuery(req.originalUrl).get('txn') ?? ''
      // Only in the browser that started: else an attacker could sign a victim in to the attacker's account.
      return deps.pages.callback(await findAuthorizationContext(deps, session, txn))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/session',
    docs: pageDocs('signInWithToken', 'Sign in with a user JWT; answers JSON with the next address'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body, context: meta }) {
      const fields = Parameters.fromForm(body)
      const { session, txn } = await deps.guard.check(req, 'session', fields)
      await findAuthorizationContext(deps, session, txn)
      const token = fields.get('access_token') ?? ''
      const outcome = await deps.signIn.withToken(session, token, deps.limits.address(req), meta)
      if (outcome.kind === 'refused')
        throw new AppError('invalid', 'access_denied', 'The sign-in is no longer valid.')
      const next = outcome.kind === 'signed_in' ? 'consent' : 'factor'
      return {
        status: 200,
        headers: {
          'Cache-Control': 'no-store',
          ...(outcome.kind === 'signed_in' ? deps.cookie.headers(outcome.session.newId) : {}),
        },
        body: { location: deps.pages.step(next, txn) },
      }
    },
  }),
]

function credentialsOf(fields: Parameters): { identifier: string; captchaToken: string | undefined } {
  const captchaField = captchaFields.find((name) => fields.get(name) !== undefined)
  return {
    identifier: (fields.get('identifier') ?? '').trim(),
    captchaToken: captchaField === undefined ? undefined : fields.get(captchaField),
  }
}
