import { html, live, pageTextsOf, table, type Html } from '@signet/pages'
import type { Router } from 'express'
import { servePage, type Tool } from './local-page.js'

/** The items that one of the tools received, and how its pages show them. */
interface Arrivals<T> {
  tool: Tool
  /** Plural name of the items, for headings. */
  plural: string
  /** The page of each item is at this path and its number. */
  itemPath: string
  /** Oldest first. */
  all: () => readonly T[]
  numberOf: (one: T) => number
  /** The text that the filter searches, and a label for that text. */
  textOf: (one: T) => string
  filter: string
  /** The title of the item's page. In the list, it is the link to the page, before the cells. */
  titleOf: (one: T) => string
  columns: readonly string[]
  cells: (one: T) => readonly Html[]
  details: (one: T) => Html
}

/** The list shows this many of the newest items. The filter finds the others. */
const LISTED = 100
/** These pages are in English, like all tools for developers. */
const kitTexts = pageTextsOf({ en: {}, de: {} })('en')

/** Serves a list and a page for each item. With scripts, the list shows new items by itself. */
export function serveArrivals<T>(router: Router, arrivals: Arrivals<T>): void {
  const { tool, plural, itemPath, all, numberOf, textOf, filter, titleOf, columns, cells, details } = arrivals
  const rowOf = (one: T) => [html`<a href="${itemPath}/${numberOf(one)}">${titleOf(one)}</a>`, ...cells(one)]
  servePage(router, tool, tool.path, ({ query: { q }, originalUrl }) => {
    const query = typeof q === 'string' ? q.trim() : ''
    const fits = (one: T) => textOf(one).toLowerCase().includes(query.toLowerCase())
    const found = all().filter(fits).reverse()
    const list = html`<p role="status">${plural}: ${found.length}</p>
      ${table(plural, columns, found.slice(0, LISTED).map(rowOf))}
      ${found.length > LISTED && html`<p class="soft">The newest ${LISTED}; the filter finds the others.</p>`}`
    const body = html`<form method="get" action="${tool.path}" role="search" class="filters">
        <div>
          <label for="q">${filter}</label>
          <input id="q" name="q" type="search" value="${query}" />
        </div>
        <div><button class="plain" type="submit">Filter</button></div>
      </form>
      ${live(kitTexts, { here: originalUrl, now: new Date() }, list)}`
    return { title: tool.name, body, polls: true }
  })
  servePage(router, tool, `${itemPath}/:number`, ({ params: { number } }) => {
    const found = all().find((one) => numberOf(one) === Number(number))
    const content = found
      ? details(found)
      : html`<p role="alert">This is not kept here, or never arrived.</p>`
    const body = html`${content}
      <p><a href="${tool.path}">Back to the list</a></p>`
    return { title: found ? titleOf(found) : tool.name, body, status: found ? 200 : 404 }
  })
}
