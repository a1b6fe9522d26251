import { brandIcon, contentHeading, formScript, html, pageAnswer, wideStyle, type Html } from '@signet/pages'
import type { Request, Response, Router } from 'express'
import type { Routes } from '../web-server.js'

/** The two tools that have pages. */
export const TOOLS = {
  inbox: { name: 'Inbox', path: '/' },
  receiver: { name: 'Webhook receiver', path: '/receiver' },
} as const
export type Tool = (typeof TOOLS)[keyof typeof TOOLS]

const SCRIPT_PATH = '/form.js'
const ICON_PATH = '/favicon.svg'
const STYLE = `${wideStyle}
.right { color: var(--good) }
.wrong { color: var(--bad) }
td { overflow-wrap: anywhere }
iframe { width: 100%; height: 34rem; border: 1px solid var(--line); border-radius: var(--radius) }
`

interface ToolPage {
  title: string
  body: Html
  /** With scripts, the page shows new arrivals by itself. */
  polls?: boolean
  status?: number
}

/** Serves a page of a tool. */
export function servePage(
  router: Router,
  tool: Tool,
  path: string,
  pageFor: (request: Request) => ToolPage,
): void {
  router.get(path, (request, response) => {
    const { title, body, polls = false, status = 200 } = pageFor(request)
    const links = Object.values(TOOLS).map(
      (one) => html`<a href="${one.path}" aria-current="${one === tool ? 'page' : 'false'}">${one.name}</a> `,
    )
    const framed = html`<nav aria-label="Tools">${links}</nav>
      ${contentHeading(title)} ${body}`
    const page = { title, polls, style: STYLE, allow: { 'frame-src': ["'self'"] }, body: framed }
    const kit = { formScript: formScript.at(SCRIPT_PATH), icon: ICON_PATH }
    send(response, pageAnswer(page, { status, secure: false, ...kit }))
  })
}

/** Serves the script that every page of the kit loads. */
export const kitRoutes: Routes = (router) => {
  router.get(SCRIPT_PATH, (_, response) => send(response, formScript.answer))
  router.get([ICON_PATH, '/favicon.ico'], (_, response) => send(response, brandIcon()))
}

const send = (
  response: Response,
  { status = 200, headers = {}, body }: ReturnType<typeof pageAnswer>,
): void => void response.status(status).set(headers).send(body)
