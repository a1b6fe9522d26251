import { route, type Answer, type RequestContext, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import type { KeyedLimit } from '../../rate-limits/rate-limits.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import { forPerson } from '../context/account-person.js'
import type { Person } from '../context/progress.js'
import { orShow, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'

/** Someone who sends a form of the account page. */
export type AccountStep = {
  readonly sent: Sent
  readonly person: Person
  readonly meta: RequestMeta
  readonly req: Request
  readonly res: Response
  readonly context: RequestContext
}

export type AccountForm = {
  path: string
  summary: string
  limit?: KeyedLimit
  /** Also for someone whose account is about to be deleted. */
  whilePending?: boolean
  work: (step: AccountStep) => Answer | Promise<Answer>
  /** The page with the form, when the work is refused. */
  refused: (step: AccountStep, refusal: Refusal) => Answer | Promise<Answer>
}

/** A form that a signed-in person submits from the account page or one below it. */
export const accountForm = (
  deps: UiDeps,
  { path, summary, limit, whilePending = false, work, refused }: AccountForm,
): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path,
    docs: pageDocs(summary),
    ...(limit && { limit: deps.guard.limit(limit) }),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      return forPerson(
        deps,
        sent,
        (person) => {
          const step = { sent, person, meta: deps.guard.metaOf(req), req, res, context }
          return orShow(
            sent.t,
            context,
            async () => work(step),
            (refusal) => refused(step, refusal),
          )
        },
        { whilePending },
      )
    },
  })
