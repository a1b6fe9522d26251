import { contentHeading, html, wideStyle, type Html, type Page } from '@signet/pages'
import type { AdminTexts } from './texts.js'

/** Where the pages are, on the private port. */
export const ADMIN_PATH = '/admin'
export const QUEUES_PATH = '/queues'

const style = `${wideStyle}
.search { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0 0 1.5rem }
.search input:not([type=hidden]) { flex: 1 1 12rem; min-width: 0 }
.search button { width: auto; margin: 0 }
.area { fill: var(--accent); fill-opacity: .18; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke }
.bad { color: var(--bad) }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem 2rem }
.plots h2 { margin-top: .5rem; font-size: 1rem }
`

type Content = { title: string; body: Html; query?: string; here?: 'overview' }

/** The frame of every page: navigation and the search box. */
export const adminPage = (t: AdminTexts, { title, body, query = '', here }: Content): Page => ({
  title: t('title', { title }),
  style,
  body: html`<nav aria-label="${t('nav.label')}">
      <a href="${ADMIN_PATH}" aria-current="${here === 'overview' ? 'page' : 'false'}"
        >${t('nav.overview')}</a
      >
      <a href="${QUEUES_PATH}">${t('nav.queues')}</a>
      <a href="/metrics">${t('nav.metrics')}</a>
    </nav>
    <form method="get" action="${ADMIN_PATH}/search" role="search" class="search">
      <input
        name="q"
        aria-label="${t('search.label')}"
        placeholder="${t('search.placeholder')}"
        value="${query}"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        maxlength="100"
        required
      />
      <button type="submit">${t('search.submit')}</button>
    </form>
    ${contentHeading(title)} ${body}`,
})

export const messagePage = (t: AdminTexts, key: 'error.nothing' | 'error.not-now'): Page =>
  adminPage(t, { title: t(key), body: html`<p role="alert">${t(`${key}.text`)}</p>` })
