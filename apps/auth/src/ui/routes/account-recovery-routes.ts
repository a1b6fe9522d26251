import { route, type Answer, type Route } from '@signet/http'
import { hasVerifiedFactor } from '../../users/user.js'
import { forPerson, onceProved } from '../context/account-person.js'
import { outcome, outcomeIn } from '../context/outcome.js'
import type { Person } from '../context/progress.js'
import { orShow, PageRefusal, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { recoveryCodesPage, recoveryPage } from '../pages/account-factor-pages.js'
import { accountForm } from './account-form.js'

const PAGE = '/account/recovery-codes'
const MADE = 'recovery-codes'

/** Recovery codes: making them, and using one in place of a second factor. */
export const accountRecoveryRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: `/ui${PAGE}`,
    docs: pageDocs('New recovery codes once, later how many are left'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) =>
        showCodes(deps, caller, person, {
          codes: deps.state.take<string[]>(req, res, codesLabel(caller, person)),
          made: outcomeIn(deps, caller.browser, req) === MADE,
        }),
      )
    },
  }),
  accountForm(deps, {
    path: `/ui${PAGE}`,
    summary: 'Make new recovery codes',
    limit: deps.limits.mfaChallenge,
    async work({ sent, person, meta, res }) {
      const toCodes = (more?: Readonly<Record<string, string>>) =>
        deps.pages.redirect(deps.pages.path(PAGE, sent.context, more))
      const count = await deps.recoveryCodes.count(person.user.id)
      // If the form is sent twice, the second time must not void the codes of the first.
      if ((count?.left ?? 0) > 0 && sent.text('replace') !== 'yes') return toCodes()
      return onceProved(deps, sent, person, async () => {
        const codes = await deps.recoveryCodes.replace(person, meta)
        deps.state.leave(res, codesLabel(sent, person), codes)
        return toCodes(outcome(deps, sent.browser, MADE))
      })
    },
    refused: ({ sent, person }, refusal) => showCodes(deps, sent, person, refusal),
  }),
  route({
    method: 'get',
    path: '/ui/factor/recovery',
    docs: pageDocs('Use a recovery code in place of a second factor'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forFactor(deps, caller, () => showRecovery(deps, caller))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/factor/recovery',
    docs: pageDocs('Answer with a recovery code'),
    limit: deps.guard.limit(deps.limits.mfaVerify),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'factor', body)
      return forFactor(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          async () => {
            const code = sent.text('code')
            if (code.trim() === '') throw new PageRefusal('invalid', 'code.missing')
            const signedIn = await deps.recoveryCodes.verify(person, code, deps.guard.metaOf(req))
            return deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
          },
          (refusal) => showRecovery(deps, sent, refusal),
        ),
      )
    },
  }),
]

/** Does the work for a person who still has to show a second factor. Everyone else continues. */
async function forFactor(
  { pages, progress }: UiDeps,
  { browser, context }: Caller,
  work: (person: Person) => Answer | Promise<Answer>,
): Promise<Answer> {
  const person = await progress.personOf(browser)
  if (person === null || progress.openFactors(person).length === 0)
    return pages.redirect(pages.path('', context))
  return work(person)
}

const codesLabel = ({ browser }: Caller, { user, session }: Person): string =>
  `recovery codes ${browser.id} ${user.id} ${session.id}`

/** `made`: the person comes from the form that creates codes. */
type ShownCodes = Partial<Refusal> & { codes?: readonly string[] | null; made?: boolean }

async function showCodes(
  { pages, recoveryCodes }: UiDeps,
  caller: Caller,
  { user }: Person,
  { codes = null, made = false, ...refusal }: ShownCodes,
): Promise<Answer> {
  const count = await recoveryCodes.count(user.id)
  const page = recoveryCodesPage(caller.t, {
    notice: refusal.notice,
    codes,
    seen: made && codes === null,
    hasFactor: hasVerifiedFactor(user),
    left: count?.left ?? 0,
    form: { action: pages.action(PAGE), fields: pages.fields(caller, 'settings') },
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

function showRecovery({ pages }: UiDeps, caller: Caller, refusal: Partial<Refusal> = {}): Answer {
  const page = recoveryPage(caller.t, {
    // The usual text would say that the code may have expired, but these codes do not expire.
    notice: refusal.code === 'mfa_verification_failed' ? caller.t('me.recovery.wrong') : refusal.notice,
    fault: refusal.notice === undefined ? undefined : 'code',
    form: { action: pages.action('/factor/recovery'), fields: pages.fields(caller, 'factor') },
    back: pages.path('/factor', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}
