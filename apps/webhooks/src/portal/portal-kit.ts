import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { SignedOutError, type FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { Next, SubmissionService } from '../forms/submission-service.js'
import type { HandoverService } from '../handovers/handover-service.js'
import type { Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import type { PageResponder } from '../pages/page-responder.js'
import type { Texts } from '../pages/texts.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { SessionService } from '../sessions/session-service.js'
import { isRefusal, refusalOf } from './refusal.js'
import { PortalContext } from './portal-context.js'

export type PortalDeps = {
  responder: PageResponder
  sessions: SessionService
  cookie: SessionCookie
  guard: FormGuard
  handovers: HandoverService
  submissions: SubmissionService
  limits: Pick<Limits, 'v1' | 'v1Writes' | 'forms'>
  now: () => Date
}

export type { Next } from '../forms/submission-service.js'

/** A page of the portal, only for signed-in people, within the limits of `/v1`. */
export const portalGet = (
  deps: PortalDeps,
  path: string,
  summary: string,
  handle: (portal: PortalContext, query: Parameters) => Promise<Answer>,
): Route =>
  route({
    method: 'get',
    path: `/portal${path}`,
    docs: pageDocs(`portal${path}`, summary),
    async handle({ req, context: meta }) {
      const session = await deps.sessions.find(deps.cookie.read(req))
      if (session?.accountId == null) return toSignIn(deps, req.originalUrl)
      await deps.limits.v1.consume(session.accountId)
      const query = Parameters.fromQuery(req.originalUrl)
      const id = query.get('handover')
      // HEAD is safe (RFC 9110 section 9.2.1): a program that looks ahead must not take what only a person can read.
      const isShown = id !== undefined && req.method !== 'HEAD'
      const handover = isShown ? await deps.handovers.take(session, id) : null
      const portal = new PortalContext(deps.responder, { session, req, meta, now: deps.now(), handover })
      try {
        return await handle(portal, query)
      } catch (error) {
        if (!isRefusal(error)) throw error
        return portal.refused(error)
      }
    },
  })

/**
 * A form of the portal: the same, but submitted from one of our pages, and within the limits of writes. It always redirects to a page,
 * so that reloading the page sends nothing again, and a second press of the button only leads to the same page. `back` is the page of
 * the form, which is shown again if the form is refused.
 */
export const portalPost = (
  deps: PortalDeps,
  path: string,
  summary: string,
  back: (req: Request) => string,
  handle: (portal: PortalContext, fields: Parameters) => Promise<Next>,
  maxBytes = pageForm.maxBytes,
): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path: `/portal${path}`,
    docs: pageDocs(`post portal${path}`, summary),
    body: { ...pageForm, maxBytes },
    // Forms that are larger than usual must not fill the memory.
    async guard({ req, context }) {
      if (!isLarge(req)) return
      const session = await deps.sessions.find(deps.cookie.read(req))
      if (session?.accountId == null) throw new SignedOutError()
      deps.limits.forms.admit(session.accountId, context.end)
    },
    async handle({ req, body, context: meta }) {
      const opened = await deps.sessions.find(deps.cookie.read(req))
      // Redirects to the page of the form, which says that nothing happened.
      if (opened?.accountId == null)
        return toSignIn(deps, deps.responder.path(`/portal${withQuery(back(req), 'done=signed_out')}`))
      const fields = Parameters.fromForm(body)
      const { session, txn } = await deps.guard.check(req, req.path as `/portal${string}`, fields)
      const portal = new PortalContext(deps.responder, { session, req, meta, now: deps.now() })
      await deps.limits.v1.consume(portal.accountId)
      const sent = { form: txn, path: req.path, fields: body }
      const { to, ...handover } = await deps.submissions.once(session, sent, async () => {
        await deps.limits.v1Writes.consume(portal.accountId)
        return orBack(
          portal.t,
          () => handle(portal, fields),
          () => ({ to: back(req), typed: keptOf(body) }),
        )
      })
      const id = Object.keys(handover).length === 0 ? null : await deps.handovers.give(session, handover)
      return deps.responder.redirect(303, portal.path(id === null ? to : withQuery(to, `handover=${id}`)))
    },
  })

/** A form without a length, or a compressed one, may turn out to be. */
const isLarge = (req: Request): boolean =>
  req.get('content-encoding') !== undefined || !(Number(req.get('content-length')) <= pageForm.maxBytes)

/** The values that were typed, without the form's token and without secrets. */
export const keptOf = ({ csrf: _csrf, txn: _txn, secret: _secret, ...kept }: PageForm): PageForm => kept

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`

const toSignIn = ({ responder }: PortalDeps, returnTo: string): Answer =>
  responder.redirect(303, responder.path(`/sign-in?return_to=${encodeURIComponent(returnTo)}`))

async function orBack(t: Texts, work: () => Promise<Next>, back: () => Next): Promise<Next> {
  try {
    return await work()
  } catch (error) {
    if (!isRefusal(error)) throw error
    return { ...back(), refusal: refusalOf(t, error) }
  }
}
