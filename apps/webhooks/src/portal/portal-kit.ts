import { isAppError, type AppError } from '@signet/errors'
import { route, statusOf, type Answer, type RequestContext, type Route } from '@signet/http'
import { hidden, html, type Html } from '@signet/pages'
import type { Request } from 'express'
import type { FormGuard } from '../forms/form-guard.js'
import { pageDocs, pageForm, type PageForm } from '../forms/page-form.js'
import type { Limits } from '../limits/limits.js'
import { Parameters } from '../oauth/parameters.js'
import type { PageResponder } from '../pages/page-responder.js'
import { csrfToken } from '../sessions/csrf.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import { portalPage, type Section } from './portal-page.js'

export type PortalDeps = {
  responder: PageResponder
  sessions: SessionService
  cookie: SessionCookie
  guard: FormGuard
  limits: Pick<Limits, 'v1' | 'v1Writes'>
}

type Content = { title: string; section: Section; body: Html; notice?: string | undefined; status?: number }

/** Somebody who is signed in, and what they opened or sent. */
export class Visit {
  readonly accountId: string
  readonly authenticatedAt: Date

  constructor(
    private readonly deps: PortalDeps,
    readonly session: OpenSession,
    readonly req: Request,
    readonly meta: RequestContext,
  ) {
    if (session.accountId === null || session.authenticatedAt === null)
      throw new Error('a visit needs somebody who is signed in')
    this.accountId = session.accountId
    this.authenticatedAt = session.authenticatedAt
  }

  /** A path of the portal as browsers reach it. */
  path(below: string): string {
    return this.deps.responder.path(`/portal${below}`)
  }

  /** The only way to make a form, so that none lacks its token. The token fits this address alone. */
  form(below: string, content: Html, className = ''): Html {
    return html`<form method="post" action="${this.path(below)}" class="${className}">
      ${hidden({ csrf: csrfToken(this.session, '', `/portal${below}`) })}${content}
    </form>`
  }

  render({ title, section, body, notice, status = 200 }: Content): Answer {
    const { responder } = this.deps
    const { email } = this.session
    const signOut = {
      action: responder.path('/sign-out'),
      csrf: csrfToken(this.session, '', 'sign-out'),
    }
    const docs = responder.path('/docs')
    const done = Parameters.fromQuery(this.req.originalUrl).get('done')
    const page = portalPage({
      title,
      section,
      body,
      notice,
      done,
      email,
      signOut,
      docs,
      path: (to) => this.path(to),
    })
    return responder.render(page, { status })
  }

  redirect(below: string): Answer {
    return this.deps.responder.redirect(303, this.path(below))
  }

  /** Where a new proof of who they are brings the person back to a page of the portal. */
  proofPath(below: string): string {
    return this.deps.responder.path(`/sign-in?fresh=1&return_to=${encodeURIComponent(this.path(below))}`)
  }

  /** A refusal as a page with a way back. */
  refused(error: AppError, back: string): Answer {
    const title = error.kind === 'not_found' ? 'Nothing here' : 'This did not work'
    const message = error.kind === 'not_found' ? 'It was deleted, or is not yours.' : error.message
    const body = html`<p role="alert" class="notice">${message}</p>
      <p><a class="button" href="${this.path(back)}">Back</a></p>`
    const answer = this.render({ title, section: null, body, status: statusOf(error) })
    const { retryAfterSeconds } = error
    if (retryAfterSeconds === undefined) return answer
    return { ...answer, headers: { ...answer.headers, 'Retry-After': String(Math.ceil(retryAfterSeconds)) } }
  }
}

type Handle<Input> = (visit: Visit, input: Input) => Promise<Answer>
type Options = {
  /** Where a refusal leads back to. */
  back?: (req: Request) => string
}

/** A page of the portal: only for who is signed in, within the limits of `/v1`. */
export const portalGet = (
  deps: PortalDeps,
  path: string,
  summary: string,
  handle: Handle<Parameters>,
): Route =>
  route({
    method: 'get',
    path: `/portal${path}`,
    docs: pageDocs(`portal${path}`, summary),
    async handle({ req, context }) {
      const session = await deps.sessions.find(deps.cookie.read(req))
      if (session?.accountId == null) return toSignIn(deps, req.originalUrl)
      await deps.limits.v1.consume(session.accountId)
      const visit = new Visit(deps, session, req, context)
      return orRefused(visit, '', () => handle(visit, Parameters.fromQuery(req.originalUrl)))
    },
  })

/** A form of the portal: the same, from a page of ours, and within the limits of writes. */
export const portalPost = (
  deps: PortalDeps,
  path: string,
  summary: string,
  handle: Handle<Parameters>,
  { back = () => '' }: Options = {},
): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path: `/portal${path}`,
    docs: pageDocs(`post portal${path}`, summary),
    body: pageForm,
    async handle({ req, body, context }) {
      const opened = await deps.sessions.find(deps.cookie.read(req))
      if (opened?.accountId == null) return toSignIn(deps, deps.responder.path('/portal'))
      const fields = Parameters.fromForm(body)
      const { session } = await deps.guard.check(req, req.path as `/portal${string}`, fields)
      const visit = new Visit(deps, session, req, context)
      await deps.limits.v1.consume(visit.accountId)
      await deps.limits.v1Writes.consume(visit.accountId)
      return orRefused(visit, back(req), () => handle(visit, fields))
    },
  })

const toSignIn = ({ responder }: PortalDeps, returnTo: string): Answer =>
  responder.redirect(303, responder.path(`/sign-in?return_to=${encodeURIComponent(returnTo)}`))

async function orRefused(visit: Visit, back: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(error) || statusOf(error) >= 500) throw error
    return visit.refused(error, back)
  }
}

/** Does the work of a form; a refusal is shown by `again`, which keeps what was typed. */
export async function orAgain(
  work: () => Promise<Answer>,
  again: (notice: string, status: number) => Promise<Answer> | Answer,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(error) || statusOf(error) >= 500 || error.kind === 'not_found') throw error
    return again(error.message, statusOf(error))
  }
}
