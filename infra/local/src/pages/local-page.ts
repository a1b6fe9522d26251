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
import type { Request, Response } from 'express'
import type { Routes } from '../web-server.js'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

type LocalKey = keyof typeof en
export type LocalTexts = PageTexts<LocalKey>

export const localCatalogues: Catalogues<LocalKey> = { en, de }

const textsIn = pageTextsOf(localCatalogues)
const SCRIPT_PATH = '/form.js'
const ICON_PATH = '/favicon.svg'

/** In the language that the browser prefers. */
export const textsFor = (request: Request): LocalTexts =>
  textsIn(preferredLanguage({ acceptLanguage: request.get('accept-language') }))

export function send(response: Response, page: Page, { language }: LocalTexts, status = 200): void {
  const kit = { formScript: formScript.at(SCRIPT_PATH), icon: ICON_PATH }
  const { headers = {}, body } = pageAnswer(page, { status, language, secure: false, ...kit })
  response.status(status).set(headers).send(body)
}

/** What every page of the kit loads. */
export const kitRoutes: Routes = (router) => {
  const { headers, body } = formScript.answer
  const icon = brandIcon()
  router.get(SCRIPT_PATH, (_, response) => void response.set(headers).send(body))
  router.get([ICON_PATH, '/favicon.ico'], (_, response) => void response.set(icon.headers).send(icon.body))
}

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
