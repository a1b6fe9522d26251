import { route, type Answer, type RequestContext, type Route } from '@signet/http'
import type { PasswordProof } from '../../account/password-change.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import { backToAccount, endedWith, onceProved, reportOf } from '../context/account-person.js'
import { outcome, outcomeIn } from '../context/outcome.js'
import { passwordPage } from '../pages/password-page.js'
import type { Person } from '../context/progress.js'
import { faultOf, orShow, type Refusal } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'

/** Names of the form fields, by the subject of a refusal. */
const FIELDS = { password: 'password', current_password: 'current_password', code: 'nonce' }
const CODE_SENT = 'password-code'

/** Sets a new password in the session opened here, by the rules of the API and with a recent proof. */
export const passwordRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/password',
    docs: pageDocs('Choose a new password'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const person = await readyPerson(deps, caller)
      if (person === null) return deps.pages.redirect(deps.pages.path('', caller.context))
      const due = await deps.userUpdates.passwordProof(person)
      if (due === null)
        return onceProved(deps, caller, person, () => show(deps, caller, person, {}, { asks: null }))
      const sentCode = outcomeIn(deps, caller.browser, req) === CODE_SENT
      return show(deps, caller, person, sentCode ? { notice: caller.t('password.code-on-way') } : {}, {
        asks: sentCode ? 'nonce' : due,
      })
    },
  }),
  passwordForm(deps, {
    path: '/ui/password',
    summary: 'Save a new password',
    work: save,
    refused: ({ sent, person, meta, context }, refusal) =>
      refusal.code === 'reauthentication_needed'
        ? askForNonce(deps, context, { sent, person, meta, refusal })
        : show(deps, sent, person, refusal, { asks: asksOf(refusal.code, sent.text('asks')) }),
  }),
  passwordForm(deps, {
    path: '/ui/password/code',
    summary: 'Send a code in place of the current password',
    async work({ sent, person, meta }) {
      await deps.reauthentications.sendNonce(person.user, meta)
      return deps.pages.redirect(
        deps.pages.path('/password', sent.context, outcome(deps, sent.browser, CODE_SENT)),
      )
    },
    refused: ({ sent, person }, refusal) => show(deps, sent, person, refusal, { asks: 'nonce' }),
  }),
]

type Step = { sent: Sent; person: Person; meta: RequestMeta; context: RequestContext }

type PasswordForm = {
  path: string
  summary: string
  work: (step: Step, deps: UiDeps) => Promise<Answer>
  refused: (step: Step, refusal: Refusal) => Answer | Promise<Answer>
}

const passwordForm = (deps: UiDeps, { path, summary, work, refused }: PasswordForm): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path,
    docs: pageDocs(summary),
    limit: deps.guard.limit(deps.limits.otp('/user')),
    body: pageForm,
    async handle({ req, body, context }) {
      const sent = deps.pages.sent(req, 'password', body)
      const person = await readyPerson(deps, sent)
      if (person === null) return deps.pages.redirect(deps.pages.path('', sent.context))
      const step = { sent, person, meta: deps.guard.metaOf(req), context }
      return orShow(
        sent.t,
        context,
        () => work(step, deps),
        (refusal) => refused(step, refusal),
      )
    },
  })

async function save(step: Step, deps: UiDeps): Promise<Answer> {
  const { sent, person } = step
  const asked = await deps.userUpdates.passwordProof(person)
  return asked === null ? onceProved(deps, sent, person, () => store(step, deps)) : store(step, deps)
}

async function store({ sent, person, meta }: Step, deps: UiDeps): Promise<Answer> {
  const changed = await deps.userUpdates.update(
    { ...person, aud: deps.aud, redirectTo: deps.returnUrl, recentProof: true },
    {
      password: sent.text('password'),
      nonce: sent.text('nonce').replaceAll(' ', ''),
      current_password: sent.text('current_password'),
    },
    meta,
  )
  const ended = endedWith(person.user, changed)
  if (sent.context.next === 'account') return backToAccount(deps, sent, 'password', ended)
  const context = { ...sent.context, next: null }
  // If no application is waiting, the next page says that it worked.
  return context.target === null
    ? deps.pages.redirect(
        deps.pages.path('', context, outcome(deps, sent.browser, reportOf('password', ended))),
      )
    : deps.progress.next(person, context)
}

type Refused = { sent: Sent; person: Person; meta: RequestMeta; refusal: Refusal }

/** Sends a code and asks for it. If it is too soon for another code, the previous one is still valid. */
const askForNonce = (
  deps: UiDeps,
  context: RequestContext,
  { sent, person, meta, refusal }: Refused,
): Promise<Answer> =>
  orShow(
    sent.t,
    context,
    async () => {
      await deps.reauthentications.sendNonce(person.user, meta)
      return show(deps, sent, person, { ...refusal, notice: sent.t('password.code-sent') }, { asks: 'nonce' })
    },
    (unsent) =>
      show(deps, sent, person, { ...unsent, notice: sent.t('password.code-not-sent') }, { asks: 'nonce' }),
  )

/** A signed-in person who has no factor left to show, and whose account is not about to be deleted. */
async function readyPerson({ progress }: UiDeps, { browser }: Caller): Promise<Person | null> {
  const person = await progress.personOf(browser)
  if (person === null || person.user.deletionDueAt !== null) return null
  return progress.openFactors(person).length > 0 ? null : person
}

/** The proof to ask for. It stays the same if something else is wrong. */
function asksOf(code: string, before: string): PasswordProof {
  if (code.startsWith('current_password_')) return 'current_password'
  return before === 'nonce' || before === 'current_password' ? before : null
}

function show(
  { pages, minPasswordLength }: UiDeps,
  caller: Caller,
  { user }: Person,
  refusal: Partial<Refusal>,
  { asks }: { asks: PasswordProof },
): Answer {
  const fields = pages.fields(caller, 'password', asks === null ? {} : { asks })
  const page = passwordPage(caller.t, {
    address: user.email ?? user.phone ?? '',
    minPasswordLength,
    back: pages.path(caller.context.next === 'account' ? '/account' : '', { ...caller.context, next: null }),
    asks,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    fault: faultOf(refusal.code, FIELDS),
    form: { action: pages.action('/password'), fields },
    code: asks === null ? null : { action: pages.action('/password/code'), fields },
  })
  return pages.render(caller.t, page, refusal)
}
