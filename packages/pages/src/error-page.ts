import { html } from './html.js'
import type { Page } from './page.js'
import type { PageTexts } from './page-texts.js'

export type ErrorView = {
  title: string
  message: string
  /** Where a person can start again. If this is absent, only the application knows. */
  home?: { href: string; label: string } | undefined
}

/** A page that explains what went wrong and what to do. */
export const errorPage = (t: PageTexts, { title, message, home }: ErrorView): Page => ({
  title,
  body: html`<h1>${title}</h1>
    <p>${message}</p>
    ${
      home === undefined
        ? html`<p class="soft">${t('kit.error.back')}</p>`
        : html`<p class="soft">${t('kit.error.or-here')}</p>
            <a class="button" href="${home.href}">${home.label}</a>`
    }`,
})
