import { html, wideStyle, type Html, type Page } from '@signet/pages'

/** Where the pages are, on the private port. */
export const ADMIN_PATH = '/admin'
export const QUEUES_PATH = '/queues'

const style = `${wideStyle}
.search { display: flex; gap: .6rem; margin: 0 0 1.5rem }
.search input { flex: 1; min-width: 0 }
.search button { width: auto; margin: 0 }
.area { fill: var(--accent); fill-opacity: .18; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke }
.bad { color: var(--bad) }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem 2rem }
.plots h2 { margin-top: .5rem; font-size: 1rem }
`

type Content = { title: string; body: Html; query?: string; here?: 'overview' }

/** The frame of every page: navigation and the search box. English only, as the log and the `ops` command are. */
export const adminPage = ({ title, body, query = '', here }: Content): Page => ({
  title: `${title} · Dispatcher`,
  style,
  body: html`<nav aria-label="Dispatcher">
      <a href="${ADMIN_PATH}" aria-current="${here === 'overview' ? 'page' : 'false'}">Overview</a>
      <a href="${QUEUES_PATH}">Queues</a>
      <a href="/metrics">Metrics</a>
    </nav>
    <form method="get" action="${ADMIN_PATH}/search" role="search" class="search">
      <input
        name="q"
        aria-label="Id of an event, a delivery, an endpoint or an account"
        placeholder="Event, delivery, endpoint or account id"
        value="${query}"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        maxlength="100"
        required
      />
      <button type="submit">Search</button>
    </form>
    <h1>${title}</h1>
    ${body}`,
})
