import { randomUUID } from 'node:crypto'
import type { AppError } from '@signet/errors'
import type { Answer, RequestContext } from '@signet/http'
import { hidden, html, type Html } from '@signet/pages'
import type { Request } from 'express'
import type { Handover, Refusal } from '../handovers/handover-service.js'
import { Parameters } from '../oauth/parameters.js'
import type { PageResponder } from '../pages/page-responder.js'
import { textsFor, type Texts } from '../pages/texts.js'
import { csrfToken } from '../sessions/csrf.js'
import type { OpenSession } from '../sessions/session-service.js'
import { portalPage, type Section } from './portal-page.js'
import { refusalOf, refusalText } from './refusal.js'

type Content = {
  title: string
  section: Section
  body: Html
  status?: number
  /** The body contains a part that {@link live} made. */
  isLive?: boolean
}
type Opened = {
  session: OpenSession
  req: Request
  meta: RequestContext
  now: Date
  handover?: Handover | null
}

/** A signed-in person, and the page that they opened or the form that they submitted. */
export class PortalContext {
  readonly accountId: string
  readonly authenticatedAt: Date
  /** When the person proved who they are. Null for a session from before that was recorded. */
  readonly provedAt: Date | null
  readonly req: Request
  readonly meta: RequestContext
  readonly now: Date
  /** Texts in the language of the reader. */
  readonly t: Texts
  readonly #session: OpenSession
  readonly #handover: Handover

  constructor(
    private readonly responder: PageResponder,
    { session, req, meta, now, handover }: Opened,
  ) {
    if (session.accountId === null || session.authenticatedAt === null)
      throw new Error('the portal needs a signed-in person')
    this.accountId = session.accountId
    this.authenticatedAt = session.authenticatedAt
    this.provedAt = session.provedAt
    this.req = req
    this.meta = meta
    this.now = now
    this.t = textsFor(req)
    this.#session = session
    this.#handover = handover ?? {}
  }

  /** A secret that the previous form created. Undefined if the page is opened again. */
  shown(name: string): string | undefined {
    return this.#handover.shown?.[name]
  }

  get verdicts() {
    return this.#handover.verdicts ?? []
  }

  /** Why the previous form was refused. */
  get refusal(): Refusal | undefined {
    return this.#handover.refusal
  }

  /** The values that were typed into the previous form. */
  get typed(): Parameters {
    return Parameters.fromForm(this.#handover.typed ?? {})
  }

  /** A path of the portal as browsers reach it. */
  path(below: string): string {
    return this.responder.path(`/portal${below}`)
  }

  /** For `<a>` in a message. */
  link(below: string): (inside: Html) => Html {
    return (inside) => html`<a href="${this.path(below)}">${inside}</a>`
  }

  /** The only way to make a form, so that each has its token. The token is valid only for this form at this address. */
  form(below: string, content: Html, className = ''): Html {
    const txn = randomUUID()
    return html`<form method="post" action="${this.path(below)}" class="${className}">
      ${hidden({ txn, csrf: csrfToken(this.#session, txn, `/portal${below}`) })}${content}
    </form>`
  }

  /** Renders a page, with the message of the previous form. */
  render({ title, section, body, status, isLive = false }: Content): Answer {
    const { responder, refusal, t } = this
    const page = portalPage(t, {
      title,
      section,
      body,
      isLive,
      refusal,
      done: Parameters.fromQuery(this.req.originalUrl).get('done'),
      email: this.#session.email,
      account: responder.accountUrl,
      signOut: { action: responder.path('/sign-out'), csrf: csrfToken(this.#session, '', 'sign-out') },
      docs: responder.path('/docs'),
      path: (to) => this.path(to),
    })
    return withRetryAfter(
      responder.render(page, { language: t.language, status: status ?? refusal?.status ?? 200 }),
      refusal?.retryAfterSeconds,
    )
  }

  /** Path of a fresh sign-in that returns the person to a page of the portal. */
  proofPath(below: string): string {
    return this.responder.path(`/sign-in?fresh=1&return_to=${encodeURIComponent(this.path(below))}`)
  }

  /** Answers with an error page that has a link back. */
  refused(error: AppError): Answer {
    const { t } = this
    const refusal = refusalOf(t, error)
    const body = html`<p role="alert" class="notice">${refusalText(t, refusal)}</p>
      <p><a class="button narrow" href="${this.path('')}">${t('portal.back')}</a></p>`
    const title = t(error.kind === 'not_found' ? 'error.title.not_found' : 'portal.refused.title')
    const { status, retryAfterSeconds } = refusal
    return withRetryAfter(this.render({ title, section: null, body, status }), retryAfterSeconds)
  }
}

const withRetryAfter = (answer: Answer, seconds: number | undefined): Answer =>
  seconds === undefined
    ? answer
    : { ...answer, headers: { ...answer.headers, 'Retry-After': String(Math.ceil(seconds)) } }
