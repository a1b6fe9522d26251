import { route, type Answer, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import type { FactorType } from '../../factors/factor-rules.js'
import type { KeyedLimit } from '../../rate-limits/rate-limits.js'
import type { SignedIn } from '../../sessions/session.js'
import { backToAccount, endedWith, forPerson, onceProved, type Done } from '../context/account-person.js'
import { openSetup, type Setup } from './factor-setup.js'
import type { Person } from '../context/progress.js'
import type { Refusal } from '../context/refusals.js'
import { pageDocs, type Caller } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountForm, type AccountStep } from './account-form.js'

/** What the page of a setup needs; `setup` is null in the first step. */
export type ShownSetup<More> = {
  caller: Caller
  person: Person
  setup: Setup<More> | null
  refusal?: Refusal
  req: Request
  res: Response
}

type SetupPages<More> = {
  /** The path below `/ui`. */
  page: string
  type: FactorType
  summary: string
  limit: KeyedLimit
  done: Done
  begin: (step: AccountStep) => Promise<Answer>
  prove: (step: AccountStep, setup: Setup<More>) => Promise<SignedIn>
  show: (shown: ShownSetup<More>) => Answer | Promise<Answer>
}

/** Adds a second factor in two steps at one address: the factor gets a name, then it is proven. */
export const setupRoutes = <More>(
  deps: UiDeps,
  { page, type, summary, limit, done, begin, prove, show }: SetupPages<More>,
): Route[] => [
  route({
    method: 'get',
    path: `/ui${page}`,
    docs: pageDocs(summary),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) => {
        const { setup: sealed } = req.query
        if (sealed === undefined)
          return onceProved(deps, caller, person, () => show({ caller, person, setup: null, req, res }))
        const setup = openSetup<More>(deps, type, person, sealed)
        return setup === null ? toAccount(deps, caller) : show({ caller, person, setup, req, res })
      })
    },
  }),
  accountForm(deps, {
    path: `/ui${page}`,
    summary,
    limit,
    async work(step) {
      const { sent, person, res } = step
      // A setup that was started can be finished without another proof: this session only has one if the person had a recent proof.
      if (sent.text('setup') === '') return onceProved(deps, sent, person, () => begin(step))
      const setup = openSetup<More>(deps, type, person, sent.text('setup'))
      if (setup === null) return toAccount(deps, sent)
      const signedIn = await prove(step, setup)
      await deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
      return backToAccount(deps, sent, done, endedWith(person.user, signedIn.user))
    },
    refused({ sent: caller, person, req, res }, refusal) {
      const setup = openSetup<More>(deps, type, person, caller.text('setup'))
      return show({ caller, person, setup, refusal, req, res })
    },
  }),
]

const toAccount = ({ pages }: UiDeps, { context }: Caller): Answer =>
  pages.redirect(pages.path('/account', context))
