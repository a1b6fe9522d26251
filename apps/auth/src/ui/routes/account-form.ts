import { route, type Answer, type RequestContext, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import type { KeyedLimit } from '../../rate-limits/rate-limits.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import { forPerson } from '../context/account-person.js'
import type { Person } from '../context/progress.js'
import { orShow, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'

/** A person who submits a form of the account page. */
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
  /** Whether someone whose account is about to be deleted may use the form. */
  whilePending?: boolean
  work: (step: AccountStep) => Answer | Promise<Answer>
  /** Shows the page with the form again, if the work is refused. */
  refused: (step: AccountStep, refusal: Refusal) => Answer | Promise<Answer>
}

/** A form on the account page, or on a page below it, that a signed-in person submits. */
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
