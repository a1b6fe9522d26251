import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { forPerson, backToAccount } from '../context/account-person.js'
import { nameOf } from '../context/name-of.js'
import type { Person } from '../context/progress.js'
import { faultOf, orShow, type Refusal } from '../context/refusals.js'
import { siteName } from '../context/sign-in-context.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountDeletePage, accountGonePage, accountPendingPage } from '../pages/account-delete-page.js'

const FIELDS = { current_password: 'password', code: 'nonce' }
const PENDING = { whilePending: true }

/** The end of an account, and the way back from there. */
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
            : show(deps, caller, person, { sent: req.query['sent'] === '1' }),
        PENDING,
      )
    },
  }),
  form(
    deps,
    '/ui/account/keep',
    'Keep the account',
    async ({ sent, person, req }) => {
      await deps.deletions.keep(person, deps.guard.metaOf(req))
      return backToAccount(deps, sent, 'kept')
    },
    PENDING,
  ),
  ...(deps.account.deletion
    ? [
        form(
          deps,
          '/ui/account/delete/code',
          'Send a code that proves the deletion',
          async ({ sent, person, req }) => {
            await deps.reauthentications.sendNonce(person.user, deps.guard.metaOf(req))
            return deps.pages.redirect(deps.pages.path('/account/delete', sent.context, { sent: '1' }))
          },
        ),
        form(deps, '/ui/account/delete', 'Delete the account', async ({ sent, person, req, forget }) => {
          const proof = { password: sent.text('password'), nonce: sent.text('nonce').replaceAll(' ', '') }
          const dueAt = await deps.deletions.request(person, proof, deps.guard.metaOf(req))
          forget()
          const { siteUrl } = deps
          const home = { url: siteUrl, name: siteName(sent.t, siteUrl) }
          return deps.pages.render(sent.t, accountGonePage(sent.t, { dueAt, home }))
        }),
      ]
    : []),
]

type Step = { sent: Sent; person: Person; req: Request; forget: () => void }

/** While the account waits to be deleted, the other forms only lead to the page that can keep it. */
const form = (
  deps: UiDeps,
  path: string,
  summary: string,
  work: (step: Step) => Promise<Answer>,
  when = {},
): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path,
    docs: pageDocs(summary),
    limit: deps.guard.limit(deps.limits.otp('/user')),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      const forget = () => deps.state.forget(res)
      return forPerson(
        deps,
        sent,
        (person) =>
          orShow(
            sent.t,
            context,
            () => work({ sent, person, req, forget }),
            (refusal) => show(deps, sent, person, refusal),
          ),
        when,
      )
    },
  })

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
