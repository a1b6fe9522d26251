import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import type { Brand } from '@signet/brand'
import { html } from '@signet/pages'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { Express, RequestHandler } from 'express'
import { ICON_PATH } from './admin-routes.js'
import { ADMIN_PATH, QUEUES_PATH } from './pages/admin-page.js'
import { refusalOf } from './queue-requests.js'
import { queueTheme } from './queue-theme.js'

/**
 * Read-only Bull Board over both queues (decision 0211). Changes go through the `ops` command, which records who made them.
 * Jobs contain only ids, so there is nothing to redact.
 */
export function queueDashboard({ events, deliveries }: WebhookQueues, brand: Brand): RequestHandler {
  const serverAdapter = new ExpressAdapter().setBasePath(QUEUES_PATH)
  createBullBoard({
    queues: [
      new BullMQAdapter(events, {
        readOnlyMode: true,
        description: 'Events waiting for their deliveries',
      }),
      new BullMQAdapter(deliveries, {
        readOnlyMode: true,
        description: 'Deliveries waiting for an attempt',
      }),
    ],
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: brand.name,
        boardLogo: { path: ICON_PATH, width: 24, height: 24 },
        favIcon: { default: ICON_PATH, alternative: ICON_PATH },
        miscLinks: [{ text: 'Deliveries', url: ADMIN_PATH }],
        hideDocsLink: true,
        hideRedisDetails: true,
        theme: queueTheme(brand.accent),
      },
    },
  })
  const board = serverAdapter.getRouter() as Express
  board.disable('x-powered-by')
  return (req, res, next) => {
    res.set(HEADERS)
    const refusal = refusalOf(req)
    if (refusal) return void res.status(refusal.status).json(refusal.body)
    // Renders the only page. Given a callback, Express passes the text to it instead of sending it.
    res.render = (view: string, options?: object | ((error: Error, text: string) => void)) =>
      board.render(view, options as object, (error, text) => {
        if (error) next(error)
        else res.send(ourFrame(text, brand))
      })
    board(req, res, next)
  }
}

/**
 * Loading fonts from Google would tell Google who operates the service, so the page uses those of the system. Adds a heading for screen
 * readers, which the page lacks, and a way on for browsers without a script.
 */
const ourFrame = (page: string, { name }: Brand): string =>
  page
    .replace(/<link[^>]*fonts\.googleapis\.com[^>]*>/g, '')
    .replace(/<body[^>]*>/, (body) => body + heading(name).text)

const heading = (name: string) =>
  html`<section aria-label="${name}">
    <h1 style="position: absolute; clip-path: inset(50%)">${name}</h1>
    <noscript
      ><p>
        <a href="${ADMIN_PATH}">This page needs a script. The numbers of the queues are on the overview.</a>
      </p></noscript
    >
  </section>`

/**
 * Bull Board's script and style come from this server, and its page sends requests to no other. It builds style elements and attributes
 * while it runs, so styles cannot be limited to files; scripts can.
 */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Frame-Options': 'DENY',
  // Browsers and proxies would otherwise keep what an operator saw.
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
}
