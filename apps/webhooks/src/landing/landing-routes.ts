import { AppError } from '@signet/errors'
import { route, type Route } from '@signet/http'
import { prefersHtml } from '@signet/http/browsers'
import { formScript } from '@signet/pages'
import { pageDocs } from '../forms/page-form.js'
import { landingPage } from '../pages/landing-page.js'
import type { PageResponder } from '../pages/page-responder.js'
import { textsFor } from '../pages/texts.js'
import { csrfToken } from '../sessions/csrf.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { SessionService } from '../sessions/session-service.js'

type Deps = { sessions: SessionService; cookie: SessionCookie; responder: PageResponder }

/** The base URL itself, which is a page for people and a 404 for programs. */
export const landingRoutes = ({ sessions, cookie, responder }: Deps): Route[] => [
  route({
    method: 'get',
    path: '/',
    docs: pageDocs('getLandingPage', 'What this service is'),
    async handle({ req }) {
      if (!prefersHtml(req)) throw new AppError('not_found', 'not_found', 'There is nothing at this path')
      const session = await sessions.find(cookie.read(req))
      const person =
        session?.accountId == null
          ? null
          : {
              email: session.email,
              signOut: { action: responder.path('/sign-out'), csrf: csrfToken(session, '', 'sign-out') },
            }
      const links = {
        portal: responder.path('/portal'),
        signIn: responder.path('/sign-in'),
        docs: responder.path('/docs'),
      }
      const t = textsFor(req)
      return responder.render(landingPage(t, { product: responder.product, person, links }), {
        language: t.language,
      })
    },
  }),
  route({
    method: 'get',
    path: '/form.js',
    docs: pageDocs('/form.js', 'The script of pages about what is under way'),
    handle: () => formScript.answer,
  }),
  ...['/favicon.svg', '/favicon.ico'].map((path) =>
    route({
      method: 'get',
      path,
      docs: pageDocs(path, 'The icon of the pages'),
      handle: () => responder.icon,
    }),
  ),
]
