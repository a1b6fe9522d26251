import type { Answer, Route } from '@signet/http'
import { enrollNamed, openSetup, toSetup } from './factor-setup.js'
import { faultOf } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { fullPhoneOf } from '../context/ways-in.js'
import { phoneFactorPage } from '../pages/account-phone-factor-page.js'
import { accountForm, type AccountStep } from './account-form.js'
import { setupRoutes, type ShownSetup } from './account-setup-routes.js'

const PAGE = '/account/phone-factor'

type Phone = { phone: string; challenge: string }

/** A phone as second factor: codes by SMS. */
export const accountPhoneFactorRoutes = (deps: UiDeps): Route[] => [
  ...setupRoutes<Phone>(deps, {
    page: PAGE,
    type: 'phone',
    summary: 'Name a phone, and prove it with a code',
    limit: deps.limits.mfaVerify,
    done: 'factor-phone',
    async begin(step) {
      const number = fullPhoneOf(step.sent.text('phone').trim())
      const { id, phone } = await enrollNamed(deps, step, { factor_type: 'phone', phone: number })
      return sendCode(deps, step, { factorId: id, phone })
    },
    prove({ sent, person, meta }, { factorId, challenge }) {
      const answer = { challenge_id: challenge, code: sent.text('code').replaceAll(' ', '') }
      return deps.challenges.verify(person, factorId, answer, meta)
    },
    show: (shown) => show(deps, shown),
  }),
  accountForm(deps, {
    path: `/ui${PAGE}/send`,
    summary: 'Send another code to the phone',
    limit: deps.limits.mfaChallenge,
    work(step) {
      const { sent, person } = step
      const setup = openSetup<Phone>(deps, 'phone', person, sent.text('setup'))
      if (setup === null) return deps.pages.redirect(deps.pages.path('/account', sent.context))
      return sendCode(deps, step, setup)
    },
    refused({ sent: caller, person, req, res }, refusal) {
      const setup = openSetup<Phone>(deps, 'phone', person, caller.text('setup'))
      return show(deps, { caller, person, setup, refusal, req, res })
    },
  }),
]

async function sendCode(
  deps: UiDeps,
  step: AccountStep,
  { factorId, phone }: { factorId: string; phone: string },
): Promise<Answer> {
  // The person may have been read before the factor was enrolled.
  const person = (await deps.progress.personOf(step.sent.browser)) ?? step.person
  const { id: challenge } = await deps.challenges.challenge(person, factorId, undefined, step.meta)
  const setup: Phone & { factorId: string } = { factorId, phone, challenge }
  return toSetup(deps, PAGE, 'phone', step, setup)
}

function show({ pages }: UiDeps, { caller, setup, refusal }: ShownSetup<Phone>): Answer {
  const more: Record<string, string> = setup === null ? {} : { setup: setup.sealed }
  const page = phoneFactorPage(caller.t, {
    notice: refusal?.notice,
    fault: faultOf(refusal?.code, { code: 'code', address: 'phone' }),
    name: caller.typed('name'),
    phone: caller.typed('phone'),
    sentTo: setup?.phone ?? null,
    form: { action: pages.action(PAGE), fields: pages.fields(caller, 'settings', more) },
    send: pages.action(`${PAGE}/send`),
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}
