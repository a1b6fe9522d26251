import { isAppError } from '@signet/errors'
import { route, statusOf, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { textOf } from '../../admin/paging.js'
import { insufficientAal } from '../../errors/auth-error.js'
import type { Operator, OperatorService } from '../../operator/operator-service.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import type { Live } from '../../sessions/session.js'
import { isUuid } from '../../users/uuid.js'
import { outcome, outcomeIn } from '../context/outcome.js'
import { PageRefusal, refusalText } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { isAuditScope, operatorAuditPage } from '../pages/operator-audit-page.js'
import { needsFactorPage, nobodyPage, operatorSearchPage } from '../pages/operator-search-page.js'
import { doneOf, isBanDuration, operatorUserPage, type Done } from '../pages/operator-user-page.js'

const PATH = '/ui/operator'

/** Pages on which administrators find and help people (docs/specification.md#the-operator-page). */
export const operatorRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: PATH,
    docs: pageDocs('Search people'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const admitted = await admit(deps, caller)
      if ('answer' in admitted) return admitted.answer
      const query = textOf(req.query['q']).trim()
      const found = query === '' ? null : await deps.operators.search(admitted.operator, query)
      return deps.pages.render(
        caller.t,
        operatorSearchPage(caller.t, { ...linksOf(deps), query, found, now: deps.now() }),
      )
    },
  }),
  route({
    method: 'get',
    path: `${PATH}/audit`,
    docs: pageDocs('Search the audit log'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const admitted = await admit(deps, caller)
      if ('answer' in admitted) return admitted.answer
      const [scope, text] = [textOf(req.query['scope']), textOf(req.query['text']).trim()]
      const query = text !== '' && isAuditScope(scope) ? `${scope}:${text}` : ''
      const entries = await deps.operators.auditLog(query)
      const page = operatorAuditPage(caller.t, { ...linksOf(deps), scope, text, entries })
      return deps.pages.render(caller.t, page)
    },
  }),
  route({
    method: 'get',
    path: `${PATH}/users/:user_id`,
    docs: pageDocs('One person'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const admitted = await admit(deps, caller)
      if ('answer' in admitted) return admitted.answer
      return show(deps, caller, req, { done: doneOf(outcomeIn(deps, caller.browser, req)) })
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: `${PATH}/users/:user_id`,
    docs: pageDocs('Do something for or about a person'),
    body: pageForm,
    async handle({ req, body }) {
      const sent = deps.pages.sent(req, 'operator', body)
      const admitted = await admit(deps, sent)
      if ('answer' in admitted) return admitted.answer
      const id = personIdOf(req)
      if (id === null) return showNobody(deps, sent)
      try {
        const done = await act(deps.operators, admitted.operator, id, sent, deps.guard.metaOf(req))
        const said = String(new URLSearchParams(outcome(deps, sent.browser, done)))
        return deps.pages.redirect(deps.pages.action(`/operator/users/${id}?${said}`))
      } catch (error) {
        if (!isAppError(error) || statusOf(error) >= 500) throw error
        if (error.kind === 'not_found' && error.code !== 'user_not_found') throw error
        // An operator who has lost the right to act must no longer see the person either.
        const still = await admit(deps, sent)
        if ('answer' in still) return still.answer
        return show(deps, sent, req, { notice: refusalText(sent.t, error), status: statusOf(error) })
      }
    },
  }),
]

type Admitted = { operator: Operator } | { answer: Answer }

/**
 * Admits only administrators who are signed in on these pages and have shown a second factor, according to the database at this moment. For
 * any other person who is signed in, the page does not exist.
 */
async function admit(
  { pages, progress, adminRoles, aud }: UiDeps,
  { browser, context, t }: Caller,
): Promise<Admitted> {
  const person = await progress.personOf(browser)
  if (person === null) return { answer: pages.redirect(pages.path('', { ...context, next: 'operator' })) }
  const { user, session } = person
  if (!adminRoles.includes(user.role)) throw new PageRefusal('not_found', 'refusal.not_found', 'not_found')
  // People who requested the deletion of their own account can do nothing but keep it.
  if (user.deletionDueAt !== null) return { answer: pages.redirect(pages.path('/account/delete', context)) }
  if (session.aal !== 'aal2')
    return {
      answer: pages.render(t, needsFactorPage(t, pages.path('/account', context)), { status: 403 }),
    }
  return { operator: { aud, live: person, require: operatorWith(adminRoles), isNamed: true } }
}

/** Checks the same conditions in the transaction that makes the change. */
const operatorWith =
  (adminRoles: readonly string[]) =>
  ({ user, session }: Live): void => {
    if (!adminRoles.includes(user.role)) throw new PageRefusal('not_found', 'refusal.not_found', 'not_found')
    if (user.deletionDueAt !== null || session.aal !== 'aal2') throw insufficientAal()
  }

async function act(
  operators: OperatorService,
  operator: Operator,
  id: string,
  sent: Sent,
  meta: RequestMeta,
): Promise<Done> {
  switch (sent.text('action')) {
    case 'ban': {
      const duration = sent.text('duration')
      if (!isBanDuration(duration)) throw new PageRefusal('invalid', 'error.body')
      await operators.ban(operator, id, duration, meta)
      return 'banned'
    }
    case 'unban':
      await operators.ban(operator, id, 'none', meta)
      return 'unbanned'
    case 'sign-out':
      await operators.signOutEverywhere(operator, id, meta)
      return 'signed-out'
    case 'confirmation':
      await operators.resendConfirmation(operator, id, meta)
      return 'sent'
    case 'recovery':
      await operators.sendRecovery(operator, id, meta)
      return 'sent'
    case 'factor':
      await operators.removeFactor(operator, id, sent.text('factor_id'), meta)
      return 'factor-removed'
    default:
      throw new PageRefusal('invalid', 'error.body')
  }
}

type Extras = { done?: Done | undefined; notice?: string; status?: number }

async function show(
  deps: UiDeps,
  caller: Caller,
  req: Request,
  { status = 200, ...extras }: Extras,
): Promise<Answer> {
  const { pages, operators, now } = deps
  const id = personIdOf(req)
  const detail = id === null ? null : await operators.person(id)
  if (id === null || detail === null) return showNobody(deps, caller)
  const form = {
    action: pages.action(`/operator/users/${id}`),
    fields: (more: Readonly<Record<string, string>>) => pages.fields(caller, 'operator', more),
  }
  const page = operatorUserPage(caller.t, { ...linksOf(deps), ...extras, ...detail, form, now: now() })
  return pages.render(caller.t, page, { status })
}

/** Anything but a UUID belongs to nobody. */
function personIdOf(req: Request): string | null {
  const id = textOf(req.params['user_id']).toLowerCase()
  return isUuid(id) ? id : null
}

const showNobody = (deps: UiDeps, { t }: Caller): Answer =>
  deps.pages.render(t, nobodyPage(t, linksOf(deps)), { status: 404 })

const linksOf = ({ pages }: Pick<UiDeps, 'pages'>) => ({
  search: pages.action('/operator'),
  audit: pages.action('/operator/audit'),
  userPath: (id: string) => pages.action(`/operator/users/${id}`),
  signOut: pages.action('/sign-out'),
})
