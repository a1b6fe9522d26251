import { AppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import type { RequestMeta } from '@signet/telemetry'
import type { Request } from 'express'
import type { IpLimit } from '../limits/limits.js'
import { authorizeParameters } from '../oauth/oauth-docs.js'
import { Parameters } from '../oauth/parameters.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import type { FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { AuthorizationPages, AuthorizationContext } from './authorization-pages.js'
import type { AuthorizationService } from './authorization-service.js'

type Deps = {
  authorizations: AuthorizationService
  pages: AuthorizationPages
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
        'Open it in the browser of the account. It shows a page to sign in and to consent, and then redirects with `code`, `state` and `iss`, or with `error`.',
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
      const session = await deps.sessions.find(deps.cookie.read(req))
      const txn = Parameters.fromQuery(req.originalUrl).get('txn') ?? ''
      return deps.pages.next(await findAuthorizationContext(deps, session, txn))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/oauth/authorize/decision',
    docs: pageDocs('decideConsent', 'Approve or deny; redirects to the application'),
    body: pageForm,
    async handle({ req, body, context }) {
      const fields = Parameters.fromForm(body)
      const { session, txn } = await deps.guard.check(req, 'decision', fields)
      const decision = fields.get('decision')
      if (decision !== 'approve' && decision !== 'deny')
        throw new AppError('invalid', 'invalid_request', 'The decision is missing.')
      const location = await deps.authorizations.decide(session, txn, decision === 'approve', context)
      if (location === null) throw requestIsOver()
      return deps.pages.redirect(303, location)
    },
  }),
]

async function authorize(
  { authorizations, pages, cookie }: Deps,
  req: Request,
  meta: RequestMeta,
): Promise<Answer> {
  const parameters = Parameters.fromQuery(req.originalUrl)
  const begun = await authorizations.begin(parameters, cookie.read(req), meta)
  return begun.kind === 'redirect' ? pages.redirect(302, begun.location) : pages.next(begun)
}

/** The pending request of this session, or an error page. */
export async function findAuthorizationContext(
  { authorizations }: Pick<Deps, 'authorizations'>,
  session: OpenSession | null,
  txn: string,
): Promise<AuthorizationContext> {
  const authorization = session && (await authorizations.findPending(session, txn))
  if (!authorization) throw requestIsOver()
  return { txn, session, authorization }
}

const requestIsOver = () =>
  new AppError(
    'invalid',
    'invalid_request',
    'It was answered already, took longer than ten minutes, or belongs to another browser.',
  )
