import { route, type Route } from '@signet/http'
import { answerOf } from '../context/credential-of.js'
import { orShow } from '../context/refusals.js'
import { pageDocs, pageForm, type PageForm } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { showSignIn } from './sign-in-routes.js'

/** Signing in with a passkey. */
export const passkeyRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/passkey',
    docs: pageDocs('Sign in with a passkey'),
    limit: deps.guard.limit(deps.limits.passkeySignIn),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'passkey', body)
      return orShow(
        sent.t,
        context,
        async () => {
          const signedIn = await deps.passkeySignIns.signIn(answerOf(sent), deps.guard.metaOf(req))
          return deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
        },
        (refusal) => showSignIn(deps, sent, refusal),
      )
    },
  }),
]
