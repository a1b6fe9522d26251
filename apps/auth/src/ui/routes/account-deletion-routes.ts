import { route, type Answer, type Route } from '@signet/http'
import { forPerson, backToAccount } from '../context/account-person.js'
import { nameOf } from '../context/name-of.js'
import { outcome, outcomeIn } from '../context/outcome.js'
import type { Person } from '../context/progress.js'
import { faultOf, type Refusal } from '../context/refusals.js'
import { siteName } from '../context/sign-in-context.js'
import { pageDocs, type Caller } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountDeletePage, accountGonePage, accountPendingPage } from '../pages/account-delete-page.js'
import { accountForm, type AccountForm } from './account-form.js'

const FIELDS = { current_password: 'password', code: 'nonce' }
const CODE_SENT = 'deletion-code'
const DELETED = 'deleted'

/** Deletes an account, or keeps one that is about to be deleted. */
export const accountDeletionRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account/delete',
    docs: pageDocs('Delete the account, or keep it after all'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(
        deps,
        caller,
        (person) =>
          person.user.deletionDueAt === null && !deps.account.deletion
            ? deps.pages.redirect(deps.pages.path('/account', caller.context))
            : show(deps, caller, person, { sent: outcomeIn(deps, caller.browser, req) === CODE_SENT }),
        { whilePending: true },
      )
    },
  }),
  form(deps, {
    path: '/ui/account/keep',
    summary: 'Keep the account',
    whilePending: true,
    async work({ sent, person, meta }) {
      await deps.deletions.keep(person, meta)
      return backToAccount(deps, sent, 'kept')
    },
  }),
  ...(deps.account.deletion ? deletingRoutes(deps) : []),
]

const deletingRoutes = (deps: UiDeps): Route[] => [
  form(deps, {
    path: '/ui/account/delete/code',
    summary: 'Send a code that proves the deletion',
    limit: deps.limits.otp('/user'),
    async work({ sent, person, meta }) {
      await deps.reauthentications.sendNonce(person.user, meta)
      const said = outcome(deps, sent.browser, CODE_SENT)
      return deps.pages.redirect(deps.pages.path('/account/delete', sent.context, said))
    },
  }),
  form(deps, {
    path: '/ui/account/delete',
    summary: 'Delete the account',
    limit: deps.limits.otp('/user'),
    async work({ sent, person, meta, res }) {
      const proof = { password: sent.text('password'), nonce: sent.text('nonce').replaceAll(' ', '') }
      await deps.deletions.request(person, proof, meta)
      const browser = deps.state.forget(res, sent.browser)
      const context = { ...sent.context, next: null }
      return deps.pages.redirect(
        deps.pages.path('/account/deleted', context, outcome(deps, browser, DELETED)),
      )
    },
  }),
  route({
    method: 'get',
    path: '/ui/account/deleted',
    docs: pageDocs('Goodbye, in the browser where the account was deleted'),
    async handle({ req, res }) {
      const { account, pages, progress, siteUrl } = deps
      const { browser, context, t } = pages.open(req, res)
      if ((await progress.personOf(browser)) !== null) return pages.redirect(pages.path('/account', context))
      if (outcomeIn(deps, browser, req) !== DELETED) return pages.redirect(pages.path('', context))
      const home = { url: siteUrl, name: siteName(t, siteUrl) }
      return pages.render(t, accountGonePage(t, { graceSeconds: account.deletionGraceMs / 1000, home }))
    },
  }),
]

const form = (deps: UiDeps, rest: Omit<AccountForm, 'refused'>): Route =>
  accountForm(deps, { ...rest, refused: ({ sent, person }, refusal) => show(deps, sent, person, refusal) })

function show(
  { pages, deletions, account }: UiDeps,
  caller: Caller,
  { user }: Person,
  { sent = false, ...refusal }: Partial<Refusal> & { sent?: boolean } = {},
): Answer {
  const { t } = caller
  const fields = pages.fields(caller, 'settings')
  const address = nameOf(t, user)
  const proof = deletions.proofOf(user)
  const page =
    user.deletionDueAt === null
      ? accountDeletePage(t, {
          address,
          notice: refusal.notice,
          fault: faultOf(refusal.code, FIELDS),
          graceSeconds: account.deletionGraceMs / 1000,
          proof,
          sent: sent && proof === 'nonce',
          form: { action: pages.action('/account/delete'), fields },
          sendCode: pages.action('/account/delete/code'),
          back: pages.path('/account', { ...caller.context, next: null }),
        })
      : accountPendingPage(t, {
          address,
          dueAt: user.deletionDueAt,
          keep: { action: pages.action('/account/keep'), fields },
          signOut: { action: pages.action('/sign-out'), fields: pages.fields(caller, 'account') },
        })
  return pages.render(t, page, refusal)
}
