import { brandIcon, pageAnswer, type Page } from '@signet/pages'
import { parseDeliveryId, parseEndpointId, parseEventId } from '@signet/webhook-core'
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express'
import type { Observer } from '../observers/observer.js'
import type { AdminService } from './admin-service.js'
import { operatorName } from './admin-token.js'
import { accountPage } from './pages/account-page.js'
import { ADMIN_PATH } from './pages/admin-page.js'
import { deliveryPage } from './pages/delivery-page.js'
import { endpointPage } from './pages/endpoint-page.js'
import { eventPage, payloadPage } from './pages/event-page.js'
import { messagePage } from './pages/message-page.js'
import { overviewPage } from './pages/overview-page.js'
import { searchPage } from './pages/search-page.js'
import { pathOf } from './pages/show.js'

export const ICON_PATH = `${ADMIN_PATH}/icon.svg`

export type AdminRoutesDeps = {
  admin: AdminService
  observer: Pick<Observer, 'payloadShown' | 'adminPageFailed'>
  now: () => Date
}

type Found = Page | null | Promise<Page | null>

/** Pages for operators, to be mounted behind the operator token. They only show (decision 0211). */
export function adminRoutes({ admin, observer, now }: AdminRoutesDeps): Router {
  const router = express.Router()
  const page = (path: string, find: (req: Request, res: Response) => Found) =>
    router.get(path, async (req, res) => {
      const found = await find(req, res)
      if (!res.headersSent) send(res, found ?? NOTHING_HERE, found === null ? 404 : 200)
    })

  page('/', async () => overviewPage(await admin.overview(), now()))
  page('/search', async (req, res) => {
    const { q } = req.query
    const query = typeof q === 'string' ? q.trim() : ''
    const hits = await admin.search(query)
    const [hit] = hits
    if (hit && hits.length === 1) res.redirect(303, pathOf(hit.kind, hit.id))
    return searchPage(query, hits)
  })
  page('/events/:id', async (req) => {
    const id = parseEventId(idOf(req))
    const found = id && (await admin.event(id))
    return found && eventPage(found)
  })
  page('/events/:id/payload', async (req) => {
    const id = parseEventId(idOf(req))
    const payload = id && (await admin.payload(id))
    if (!id || payload === null) return null
    observer.payloadShown({ eventId: id, operator: operatorName(req) })
    return payloadPage(id, payload)
  })
  page('/deliveries/:id', async (req) => {
    const id = parseDeliveryId(idOf(req))
    const found = id && (await admin.delivery(id))
    return found && deliveryPage(found)
  })
  page('/endpoints/:id', async (req) => {
    const id = parseEndpointId(idOf(req))
    const found = id && (await admin.endpoint(id))
    return found && endpointPage(found)
  })
  page('/accounts/:id', async (req) => {
    const found = await admin.account(idOf(req))
    return found && accountPage(found)
  })
  const icon = brandIcon()
  router.get('/icon.svg', (_req, res) => void res.set(icon.headers).send(icon.body))
  page('/{*path}', () => null)
  const failed: ErrorRequestHandler = (error: unknown, req, res, next) => {
    if (res.headersSent) return next(error)
    if (isMalformedPath(error)) return send(res, NOTHING_HERE, 404)
    observer.adminPageFailed(req.path, error)
    send(res, NOT_NOW, 503)
  }
  router.use(failed)
  return router
}

/** What the router throws for a path whose percent-encoded bytes are no text. */
const isMalformedPath = (error: unknown): boolean => error instanceof URIError

const idOf = (req: Request): string => String(req.params['id'])

function send(res: Response, page: Page, status: number): void {
  // The port is private, and whether a proxy adds TLS is that proxy's to say.
  const { headers = {}, body } = pageAnswer(page, { status, secure: false, icon: ICON_PATH })
  res.status(status).set(headers).send(body)
}

const NOTHING_HERE = messagePage('Nothing here', 'It was deleted, or was never here.')
const NOT_NOW = messagePage(
  'Not now',
  'PostgreSQL did not respond in time. Deliveries wait for it and go on by themselves; the log has the error.',
)
