import { isAppError } from '@signet/errors'
import { route, statusOf, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { userIdOf } from '../../admin/admin-routes.js'
import { textOf } from '../../admin/paging.js'
import type { Operator, OperatorService } from '../../operator/operator-service.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import { PageRefusal } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { AUDIT_SCOPES, operatorAuditPage } from '../pages/operator-audit-page.js'
import { needsFactorPage, operatorSearchPage } from '../pages/operator-search-page.js'
import { BAN_DURATIONS, isDone, operatorUserPage, type Done } from '../pages/operator-user-page.js'
import { uiTextsIn } from '../texts.js'

/** These pages are in English only. */
const ENGLISH = uiTextsIn('en')
const PATH = '/ui/operator'

/** Search and help for people, by administrators in person (docs/specification.md#the-operator-page). */
export const operatorRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: PATH,
    docs: pageDocs('Search people'),
    async handle({ req, res }) {
      const admitted = await admit(deps, deps.pages.open(req, res))
      if ('answer' in admitted) return admitted.answer
      const query = textOf(req.query['q']).trim()
      const found = query === '' ? null : await deps.operators.search(admitted.operator, query)
      return deps.pages.render(
        ENGLISH,
        operatorSearchPage({ ...linksOf(deps), query, found, now: deps.now() }),
      )
    },
  }),
  route({
    method: 'get',
    path: `${PATH}/audit`,
    docs: pageDocs('Search the audit log'),
    async handle({ req, res }) {
      const admitted = await admit(deps, deps.pages.open(req, res))
      if ('answer' in admitted) return admitted.answer
      const [scope, text] = [textOf(req.query['scope']), textOf(req.query['text']).trim()]
      const query = text !== '' && Object.hasOwn(AUDIT_SCOPES, scope) ? `${scope}:${text}` : ''
      const entries = await deps.operators.auditLog(query)
      return deps.pages.render(ENGLISH, operatorAuditPage({ ...linksOf(deps), scope, text, entries }))
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
      const done = textOf(req.query['done'])
      return show(deps, caller, req, isDone(done) ? { done } : {})
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
      const id = userIdOf(req)
      try {
        const done = await act(deps.operators, admitted.operator, id, sent, deps.guard.metaOf(req))
        return deps.pages.redirect(deps.pages.action(`/operator/users/${id}?done=${done}`))
      } catch (error) {
        if (!isAppError(error) || statusOf(error) >= 500 || error.kind === 'not_found') throw error
        return show(deps, sent, req, { notice: error.message, status: statusOf(error) })
      }
    },
  }),
]

type Admitted = { operator: Operator } | { answer: Answer }

/**
 * Only who is signed in here as an administrator with a second factor shown, by what the database says now. To everybody else
 * who is signed in there is no such page.
 */
async function admit(
  { pages, progress, adminRoles, aud }: UiDeps,
  { browser, context }: Caller,
): Promise<Admitted> {
  const person = await progress.personOf(browser)
  if (person === null) return { answer: pages.redirect(pages.path('', { ...context, next: 'operator' })) }
  const { user, session } = person
  if (!adminRoles.includes(user.role)) throw new PageRefusal('not_found', 'error.nothing', 'not_found')
  // Whoever asked for their own account to be deleted can only keep it until then.
  if (user.deletionDueAt !== null) return { answer: pages.redirect(pages.path('/account/delete', context)) }
  if (session.aal !== 'aal2')
    return {
      answer: pages.render(ENGLISH, needsFactorPage(pages.path('/account', context)), { status: 403 }),
    }
  return { operator: { role: user.role, aud, user } }
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
      if (!Object.hasOwn(BAN_DURATIONS, duration)) throw new PageRefusal('invalid', 'error.body')
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

type Extras = { done?: Done; notice?: string; status?: number }

async function show(
  deps: UiDeps,
  caller: Caller,
  req: Request,
  { status = 200, ...extras }: Extras,
): Promise<Answer> {
  const { pages, operators, now } = deps
  const id = userIdOf(req)
  const detail = await operators.person(id)
  const form = {
    action: pages.action(`/operator/users/${id}`),
    fields: (more: Readonly<Record<string, string>>) => pages.fields(caller, 'operator', more),
  }
  const page = operatorUserPage({ ...linksOf(deps), ...extras, ...detail, form, now: now() })
  return pages.render(ENGLISH, page, { status })
}

const linksOf = ({ pages }: Pick<UiDeps, 'pages'>) => ({
  search: pages.action('/operator'),
  audit: pages.action('/operator/audit'),
  userPath: (id: string) => pages.action(`/operator/users/${id}`),
  signOut: pages.action('/sign-out'),
})
