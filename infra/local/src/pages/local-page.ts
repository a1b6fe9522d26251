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

type LocalKey = keyof typeof en
export type LocalTexts = PageTexts<LocalKey>

export const localCatalogues: Catalogues<LocalKey> = { en, de }

const textsIn = pageTextsOf(localCatalogues)
const SCRIPT_PATH = '/form.js'
const ICON_PATH = '/favicon.svg'

/** Serves a page in the language that the browser prefers. */
export function servePage(
  router: Router,
  paths: string | string[],
  pageFor: (t: LocalTexts, request: Request) => Page & { status?: number },
): void {
  router.get(paths, (request, response) => {
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

type Content = Pick<Page, 'title' | 'body' | 'allow'> & { here: 'inbox' | 'receiver'; style?: string }

/** The frame of both tools. What arrives shows up by itself where scripts run. */
export const toolPage = (t: LocalTexts, { here, style = '', body, ...page }: Content): Page => ({
  ...page,
  polls: true,
  style: `${wideStyle}${style}`,
  body: html`<nav aria-label="${t('nav')}">
      ${link('/', t('inbox'), here === 'inbox')} ${link('/receiver', t('receiver'), here === 'receiver')}
    </nav>
    ${contentHeading(page.title)} ${body}`,
})

const link = (path: string, label: string, isHere: boolean): Html =>
  html`<a href="${path}" aria-current="${isHere ? 'page' : 'false'}">${label}</a>`
