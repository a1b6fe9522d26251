import { isAppError } from '@signet/errors'
import { route, statusOf, type Route } from '@signet/http'
import { pageDocs, pageForm, type PageForm } from '../context/sign-in-pages.js'
import { forPerson } from '../context/account-person.js'
import { outcomeIn } from '../context/outcome.js'
import { LEFT, ownFlow } from '../context/own-flow.js'
import { orShow, refusalText, textOfCode } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { showHome } from './account-home-routes.js'
import { showSignIn } from './sign-in-routes.js'

/** Redirects to a provider, and handles the return from a provider or an emailed link. */
export const returnRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/provider',
    docs: pageDocs('Sign in through a provider'),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'provider', body)
      return orShow(
        sent.t,
        context,
        async () => {
          const { challenge, redirectTo } = ownFlow(deps, sent, sent.context)
          const query = { provider: sent.text('provider'), ...challenge }
          const departure = await deps.authorizations.begin(
            { query, redirectTo, linkingTarget: null },
            deps.guard.metaOf(req),
          )
          deps.flowCookies.give(res, departure)
          return deps.pages.redirect(departure.url)
        },
        (refusal) => showSignIn(deps, sent, refusal),
      )
    },
  }),
  route({
    method: 'get',
    path: '/ui/return',
    docs: pageDocs('Come back from a provider or the link of an email'),
    limit: deps.guard.limit(deps.limits.token),
    async handle({ req, res, context }) {
      const caller = deps.pages.open(req, res)
      const { code, error, error_code: errorCode } = req.query
      if (typeof error === 'string' || typeof errorCode === 'string') {
        // Never show the description, and show the code only if the flow began here: anyone can forge a link with them.
        const isOwn = outcomeIn(deps, caller.browser, req) === LEFT
        const notice = textOfCode(caller.t, isOwn ? codeOf(error, errorCode) : '')
        // People who add a sign-in method are signed in already.
        if (caller.context.next === 'account' && (await deps.progress.personOf(caller.browser)) !== null)
          return forPerson(deps, caller, (person) => showHome(deps, caller, person, { status: 400, notice }))
        return showSignIn(deps, caller, { status: 400, notice })
      }
      if (typeof code !== 'string') return deps.pages.redirect(deps.pages.path('', caller.context))
      const verifier = deps.state.verifier(caller.browser, caller.context)
      try {
        const { signedIn } = await deps.flowExchanges.exchange(
          { auth_code: code, code_verifier: verifier },
          deps.guard.metaOf(req),
        )
        return await deps.progress.signedIn(res, caller.browser, caller.context, signedIn)
      } catch (refusal) {
        if (!isAppError(refusal) || statusOf(refusal) >= 500) throw refusal
        context.fields['error_code'] = refusal.code
        // Reloading the page must not look like a failure to someone who has already signed in.
        const person = await deps.progress.personOf(caller.browser)
        if (person !== null) return deps.progress.next(person, caller.context)
        return showSignIn(deps, caller, { status: statusOf(refusal), notice: refusalText(caller.t, refusal) })
      }
    },
  }),
]

/** Providers have no code of ours for a person who cancels there (RFC 6749 section 4.1.2.1). */
function codeOf(error: unknown, code: unknown): string {
  if (typeof code === 'string') return code
  return error === 'access_denied' ? 'cancelled' : ''
}
