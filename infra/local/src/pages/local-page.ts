import { preferredLanguage, type Catalogues } from '@signet/language'
import {
  brandIcon,
  contentHeading,
  formScript,
  html,
  pageAnswer,
  pageTextsOf,
  wideStyle,
} from '@signet/pages'
import type { Html, Page, PageTexts } from '@signet/pages'
import type { Request, Response, Router } from 'express'
import type { Routes } from '../web-server.js'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

export type LocalKey = keyof typeof en
export type LocalTexts = PageTexts<LocalKey>

export const localCatalogues: Catalogues<LocalKey> = { en, de }

/** The two tools that have pages. */
export const TOOLS = {
  inbox: { name: 'inbox', path: '/' },
  receiver: { name: 'receiver', path: '/receiver' },
} as const
export type Tool = (typeof TOOLS)[keyof typeof TOOLS]

const textsIn = pageTextsOf(localCatalogues)
const SCRIPT_PATH = '/form.js'
const ICON_PATH = '/favicon.svg'
const STYLE = `${wideStyle}
.right { color: var(--good) }
.wrong { color: var(--bad) }
td { overflow-wrap: anywhere }
iframe { width: 100%; height: 34rem; border: 1px solid var(--line); border-radius: var(--radius) }
`

/** Serves a page in the language that the browser prefers. */
export function servePage(
  router: Router,
  path: string,
  pageFor: (t: LocalTexts, request: Request) => Page & { status?: number },
): void {
  router.get(path, (request, response) => {
    const t = textsIn(preferredLanguage({ acceptLanguage: request.get('accept-language') }))
    const { status, ...page } = pageFor(t, request)
    const kit = { formScript: formScript.at(SCRIPT_PATH), icon: ICON_PATH }
    send(response, pageAnswer(page, { status, language: t.language, secure: false, ...kit }))
  })
}

/** What every page of the kit loads. */
export const kitRoutes: Routes = (router) => {
  router.get(SCRIPT_PATH, (_, response) => send(response, formScript.answer))
  router.get([ICON_PATH, '/favicon.ico'], (_, response) => send(response, brandIcon()))
}

const send = (
  response: Response,
  { status = 200, headers = {}, body }: ReturnType<typeof pageAnswer>,
): void => void response.status(status).set(headers).send(body)

/** The frame of both tools. */
export const toolPage = (t: LocalTexts, tool: Tool, title: string, body: Html): Page => ({
  title,
  style: STYLE,
  allow: { 'frame-src': ["'self'"] },
  body: html`<nav aria-label="${t('nav')}">
      ${Object.values(TOOLS).map(
        (one) =>
          html`<a href="${one.path}" aria-current="${one === tool ? 'page' : 'false'}">${t(one.name)}</a> `,
      )}
    </nav>
    ${contentHeading(title)} ${body}`,
})
