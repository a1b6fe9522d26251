import type { Brand } from '@signet/brand'
import { brandIcon, pageAnswer, type Page } from '@signet/pages'
import { parseDeliveryId, parseEndpointId, parseEventId } from '@signet/webhook-core'
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express'
import type { Observer } from '../observers/observer.js'
import type { AdminService } from './admin-service.js'
import { operatorName } from './admin-token.js'
import { accountPage } from './pages/account-page.js'
import { ADMIN_PATH, messagePage } from './pages/admin-page.js'
import { deliveryPage } from './pages/delivery-page.js'
import { endpointPage } from './pages/endpoint-page.js'
import { eventPage, payloadPage } from './pages/event-page.js'
import { overviewPage } from './pages/overview-page.js'
import { searchPage } from './pages/search-page.js'
import { pathOf } from './pages/show.js'
import { textsFor, type AdminTexts } from './pages/texts.js'

export const ICON_PATH = `${ADMIN_PATH}/icon`

export type AdminRoutesDeps = {
  admin: AdminService
  observer: Pick<Observer, 'payloadShown' | 'adminPageFailed'>
  brand: Brand
  now: () => Date
}

type Found = Page | null | Promise<Page | null>

/** The pages of operators, by their path below `/admin`. */
export function adminPages({ admin, observer, now }: AdminRoutesDeps) {
  const page = (path: string, find: (t: AdminTexts, req: Request, res: Response) => Found) => ({ path, find })
  return [
    page('/', async (t) => overviewPage(t, await admin.overview(), now())),
    page('/search', async (t, req, res) => {
      const { q } = req.query
      const query = typeof q === 'string' ? q.trim() : ''
      const hits = await admin.search(query)
      const [hit] = hits
      if (hit && hits.length === 1) res.redirect(303, pathOf(hit.kind, hit.id))
      return searchPage(t, query, hits)
    }),
    page('/events/:id', async (t, req) => {
      const id = parseEventId(idOf(req))
      const found = id && (await admin.event(id))
      return found && eventPage(t, found)
    }),
    page('/events/:id/payload', async (t, req) => {
      const id = parseEventId(idOf(req))
      const payload = id && (await admin.payload(id))
      if (!id || payload === null) return null
      observer.payloadShown({ eventId: id, operator: operatorName(req) })
      return payloadPage(t, id, payload)
    }),
    page('/deliveries/:id', async (t, req) => {
      const id = parseDeliveryId(idOf(req))
      const found = id && (await admin.delivery(id))
      return found && deliveryPage(t, found)
    }),
    page('/endpoints/:id', async (t, req) => {
      const id = parseEndpointId(idOf(req))
      const found = id && (await admin.endpoint(id))
      return found && endpointPage(t, found)
    }),
    page('/accounts/:id', async (t, req) => {
      const found = await admin.account(idOf(req))
      return found && accountPage(t, found)
    }),
  ]
}

/** Pages for operators, to be mounted behind the operator token. They change nothing (decision 0211). */
export function adminRoutes(deps: AdminRoutesDeps): Router {
  const { observer, brand } = deps
  const router = express.Router()
  const icon = brandIcon(brand)
  router.get('/icon', (_req, res) => void res.set(icon.headers).send(icon.body))
  for (const { path, find } of [...adminPages(deps), { path: '/{*path}', find: () => null }])
    router.get(path, async (req, res) => {
      const t = textsFor(req)
      const found = await find(t, req, res)
      if (!res.headersSent) send(res, found ?? messagePage(t, 'error.nothing'), found === null ? 404 : 200)
    })

  function send(res: Response, page: Page, status: number): void {
    const { language } = textsFor(res.req)
    // The port is private, and only a proxy in front of it can know whether it adds TLS.
    const answer = pageAnswer(page, { status, language, secure: false, icon: ICON_PATH, brand })
    res
      .status(status)
      .set(answer.headers ?? {})
      .send(answer.body)
  }

  const failed: ErrorRequestHandler = (error: unknown, req, res, next) => {
    if (res.headersSent) return next(error)
    const t = textsFor(req)
    if (isMalformedPath(error)) return send(res, messagePage(t, 'error.nothing'), 404)
    observer.adminPageFailed(req.path, error)
    send(res, messagePage(t, 'error.not-now'), 503)
  }
  router.use(failed)
  return router
}

/** What the router throws for a path whose percent-encoded bytes are not text. */
const isMalformedPath = (error: unknown): boolean => error instanceof URIError

const idOf = (req: Request): string => String(req.params['id'])
