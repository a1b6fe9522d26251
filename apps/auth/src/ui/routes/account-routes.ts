import { route, type Answer, type Route } from '@signet/http'
import { withQuery } from '../../verify/redirect-answer.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import type { Browser } from '../context/browser-state.js'
import type { Person } from '../context/progress.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import { siteName, siteOf, type SignInContext } from '../context/sign-in-context.js'
import { nameOf } from '../context/name-of.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountPage } from '../pages/account-page.js'
import { signOutPage } from '../pages/sign-out-page.js'

/** Pages for a person who is signed in: continue, use another account, sign out. */
export const accountRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/continue',
    docs: pageDocs('Go on to the application as the person who is signed in'),
    body: pageForm,
    async handle({ req, body }) {
      const sent = deps.pages.sent(req, 'account', body)
      const person = await deps.progress.personOf(sent.browser)
      return person === null || deps.progress.isStale(person, sent.context)
        ? toSignIn(deps, sent.context)
        : deps.progress.next(person, sent.context)
    },
  }),
  route({
    method: 'get',
    path: '/ui/sign-out',
    docs: pageDocs('Ask before signing out'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const person = await deps.progress.personOf(caller.browser)
      if (person !== null) return showSignOut(deps, caller, nameOf(caller.t, person.user))
      return (await hasLeftBehind(deps, caller.browser))
        ? showSignOut(deps, caller, null)
        : away(deps, caller.context)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/sign-out',
    docs: pageDocs('Sign out'),
    body: pageForm,
    async handle({ req, res, body }) {
      const sent = deps.pages.sent(req, 'account', body)
      const person = await deps.progress.personOf(sent.browser)
      const meta = deps.guard.metaOf(req)
      if (person !== null) await deps.overviews.endSignIn(person, person.session.signInId, meta)
      else await endLeftBehind(deps, sent.browser, meta)
      deps.state.forget(res, sent.browser)
      return sent.text('then') === 'leave' ? away(deps, sent.context) : toSignIn(deps, sent.context)
    },
  }),
]

export function showAccount(
  { pages, siteUrl }: UiDeps,
  caller: Caller,
  { user }: Person,
  { done = null }: { done: string | null | undefined },
): Answer {
  const fields = pages.fields(caller, 'account')
  const page = accountPage(caller.t, {
    address: nameOf(caller.t, user),
    done,
    site: siteOf(caller.t, caller.context),
    proceed: { action: pages.action('/continue'), fields },
    signOut: { action: pages.action('/sign-out'), fields },
    leave:
      caller.context.target === null
        ? null
        : {
            action: pages.action('/sign-out'),
            fields: pages.fields({ ...caller, context: { ...caller.context, target: null } }, 'account', {
              then: 'leave',
            }),
          },
    password: pages.path('/password', caller.context),
    manage: pages.path('/account', caller.context),
    home: { url: siteUrl, name: siteName(caller.t, siteUrl) },
  })
  return pages.render(caller.t, page)
}

/** Whether applications in this browser are still signed in, although the pages no longer know the person. */
async function hasLeftBehind({ overviews, state }: UiDeps, browser: Browser): Promise<boolean> {
  const { lastUserId } = browser
  if (lastUserId === null) return false
  const signInId = state.signInId(browser, lastUserId)
  const { rows } = await overviews.openSignIns(lastUserId, signInId)
  return rows.some((one) => one.signInId === signInId)
}

async function endLeftBehind(
  { overviews, state }: UiDeps,
  browser: Browser,
  meta: RequestMeta,
): Promise<void> {
  const { lastUserId } = browser
  if (lastUserId !== null)
    await overviews.endLeftBehind(lastUserId, state.signInId(browser, lastUserId), meta)
}

/** `address` is null if only applications are signed in. */
function showSignOut({ pages }: UiDeps, caller: Caller, address: string | null): Answer {
  const page = signOutPage(caller.t, {
    address,
    form: { action: pages.action('/sign-out'), fields: pages.fields(caller, 'account', { then: 'leave' }) },
    stay: pages.path('', { ...caller.context, target: null }),
  })
  return pages.render(caller.t, page)
}

const toSignIn = ({ pages }: UiDeps, context: SignInContext): Answer =>
  pages.redirect(pages.path('', { ...context, next: null }))

/** Redirects to the page that the application wants people to see after signing out. */
function away({ pages }: UiDeps, { target, state }: SignInContext): Answer {
  if (target === null) return pages.redirect(pages.action(''))
  return pages.redirect(state === null ? target : withQuery(target, { state }))
}
