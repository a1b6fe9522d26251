import { route, type Route } from '@signet/http'
import { type AuthorizationPages } from '../authorization/authorization-pages.js'
import { findVisit } from '../authorization/authorization-routes.js'
import { type AuthorizationService } from '../authorization/authorization-service.js'
import { type Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import { type SessionService } from '../sessions/session-service.js'
import { type FormGuard } from './form-guard.js'
import { pageDocs, pageForm, type PageForm } from './page-form.js'
import { type SignInService } from './sign-in-service.js'

type Deps = {
  authorizations: AuthorizationService
  pages: AuthorizationPages
  sessions: SessionService
  signIn: SignInService
  guard: FormGuard
  limits: Pick<Limits, 'login' | 'address'>
}

// One text for wrong, unknown, unconfirmed and banned: the page must not tell who has an account.
const REFUSED = 'This did not work. Check the address and the password, and that your address is confirmed.'

/** Signing in and out on the way to consent (webhooks contract B.8). */
export const signInRoutes = (deps: Deps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/login',
    docs: pageDocs('Sign in with e-mail or phone number and password'),
    limit: deps.limits.login,
    body: pageForm,
    async handle({ req, body }) {
      const fields = Parameters.fromForm(body)
      const { session, txn } = await deps.guard.check(req, 'login', fields)
      const visit = await findVisit(deps, session, txn)
      const identifier = (fields.get('identifier') ?? '').trim()
      const password = fields.get('password') ?? ''
      const captchaToken = fields.get('captcha_token')
      const complete = identifier !== '' && password !== ''
      const signedIn = complete
        ? await deps.signIn.withPassword(
            session,
            { identifier, password, captchaToken },
            deps.limits.address(req),
          )
        : null
      if (!signedIn) return deps.pages.signIn(visit, { status: 400, identifier, notice: REFUSED })
      return deps.pages.toConsent(txn, signedIn)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/logout',
    docs: pageDocs('End the session to use another account'),
    body: pageForm,
    async handle({ req, body }) {
      const { session, txn } = await deps.guard.check(req, 'logout', Parameters.fromForm(body))
      await findVisit(deps, session, txn)
      // Without an account the consent page is the sign-in page; a redirect so that reloading posts nothing again.
      return deps.pages.toConsent(txn, (await deps.sessions.signOut(session)) ?? session)
    },
  }),
]
