import { AppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import type { RequestMeta } from '@signet/telemetry'
import type { Request } from 'express'
import { PageError } from '../errors/page-error.js'
import type { IpLimit } from '../limits/limits.js'
import { authorizeParameters } from '../oauth/oauth-docs.js'
import { Parameters } from '../oauth/parameters.js'
import type { PageResponder } from '../pages/page-responder.js'
import { textsFor } from '../pages/texts.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import { SignedOutError, type FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { AuthorizationPages, AuthorizationContext } from './authorization-pages.js'
import type { AuthorizationService } from './authorization-service.js'

type Deps = {
  authorizations: AuthorizationService
  pages: AuthorizationPages
  responder: PageResponder
  sessions: SessionService
  cookie: SessionCookie
  guard: FormGuard
  limit: IpLimit
}

/** The authorization endpoint and the consent page (docs/specification.md#authorization-request). */
export const authorizationRoutes = (deps: Deps): Route[] => [
  route({
    method: 'get',
    path: '/oauth/authorize',
    docs: {
      ...pageDocs('authorize', 'Authorization endpoint'),
      description:
        'Open it in the browser of the account. It redirects to the sign-in page if needed, shows a consent page, and then redirects with `code`, `state` and `iss`, or with `error`.',
      tag: 'OAuth 2.1',
      parameters: authorizeParameters,
    },
    limit: deps.limit,
    handle: ({ req, context }) => authorize(deps, req, context),
  }),
  route({
    method: 'get',
    path: '/oauth/authorize/consent',
    docs: pageDocs('getConsentPage', 'Consent page of a pending authorization'),
    async handle({ req }) {
      const context = await openedContext(deps, req)
      const t = textsFor(req)
      return context.authorization.needsSignIn
        ? deps.pages.signInAgain(t, context)
        : deps.pages.consent(t, context)
    },
  }),
  route({
    method: 'get',
    path: '/oauth/authorize/sign-in',
    docs: pageDocs('signInForConsent', 'Sign in for a pending authorization'),
    limit: deps.limit,
    async handle({ req }) {
      const context = await openedContext(deps, req)
      const prompt = context.authorization.freshLogin ? 'login' : undefined
      return deps.pages.toSignIn(context, { prompt, maxAge: maxAgeFor(context) })
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/logout',
    docs: pageDocs('switchAccount', 'End the session to use another account'),
    body: pageForm,
    async handle({ req, body }) {
      const fields = Parameters.fromForm(body)
      return orSignInAgain(deps, req, fields, async () => {
        const { session, txn } = await deps.guard.check(req, 'logout', fields)
        const { authorization } = await findContext(deps, session, txn)
        const signedOut = (await deps.sessions.signOut(session)) ?? session
        const context = { txn, session: signedOut, authorization }
        const wish = { prompt: 'select_account', maxAge: maxAgeFor(context) } as const
        return deps.pages.toSignIn(context, wish, 303)
      })
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/decision',
    docs: pageDocs('decideConsent', 'Approve or deny; redirects to the application'),
    body: pageForm,
    async handle({ req, body, context }) {
      const fields = Parameters.fromForm(body)
      return orSignInAgain(deps, req, fields, async () => {
        const { session, txn } = await deps.guard.check(req, 'decision', fields)
        const decision = fields.get('decision')
        if (decision !== 'approve' && decision !== 'deny')
          throw new AppError('invalid', 'invalid_request', 'The decision is missing.')
        const location = await deps.authorizations.decide(session, txn, decision === 'approve', context)
        if (location === null) throw requestIsOver()
        return deps.responder.redirect(303, location)
      })
    },
  }),
]

async function authorize(
  { authorizations, pages, responder, cookie }: Deps,
  req: Request,
  meta: RequestMeta,
): Promise<Answer> {
  const parameters = Parameters.fromQuery(req.originalUrl)
  const begun = await authorizations.begin(parameters, cookie.read(req), meta)
  if (begun.kind === 'again') return responder.redirect(302, req.originalUrl)
  if (begun.kind === 'redirect') return responder.redirect(302, begun.location)
  return begun.authorization.needsSignIn
    ? pages.toSignIn(begun, begun.wish)
    : pages.consent(textsFor(req), begun)
}

/** If the person was signed out in the meantime, for instance in another tab, they sign in again, and the same request continues. */
async function orSignInAgain(
  { authorizations, pages, sessions, cookie }: Deps,
  req: Request,
  fields: Parameters,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SignedOutError)) throw error
    const session = await sessions.find(cookie.read(req))
    const txn = fields.get('txn') ?? ''
    if (!session || !(await authorizations.findPending(session, txn))) throw error
    return pages.toConsent(txn)
  }
}

async function openedContext(deps: Deps, req: Request): Promise<AuthorizationContext> {
  const session = await deps.sessions.find(deps.cookie.read(req))
  return findContext(deps, session, Parameters.fromQuery(req.originalUrl).get('txn') ?? '')
}

/** Returns the pending request of this session, or an error page. */
async function findContext(
  { authorizations }: Pick<Deps, 'authorizations'>,
  session: OpenSession | null,
  txn: string,
): Promise<AuthorizationContext> {
  const authorization = session && (await authorizations.findPending(session, txn))
  if (!authorization) throw requestIsOver()
  return { txn, session, authorization }
}

/** Without it, the sign-in page would pass on an older sign-in, and the person would have to sign in again and again. */
const maxAgeFor = ({ authorization }: AuthorizationContext): number | undefined =>
  authorization.maxAge ?? undefined

const requestIsOver = () => new PageError('invalid', 'invalid_request', 'error.over')
