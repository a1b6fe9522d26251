import { html, live, table, type Html } from '@signet/pages'
import type { Router } from 'express'
import { servePage, toolPage, type LocalKey, type LocalTexts, type Tool } from './local-page.js'

/** What one of the tools received, and how its pages show it. */
interface Arrivals<T> {
  tool: Tool
  /** The pages of single arrivals are at this path and a number. */
  itemPath: string
  /** Oldest first. */
  all: () => readonly T[]
  numberOf: (one: T) => number
  /** What the filter looks at. */
  textOf: (one: T) => string
  texts: Readonly<Record<'count' | 'list' | 'filter', LocalKey>>
  columns: readonly LocalKey[]
  /** The title of its page. In the list it is the link there, before the cells. */
  titleOf: (t: LocalTexts, one: T) => string
  cells: (t: LocalTexts, one: T) => readonly Html[]
  details: (t: LocalTexts, one: T) => Html
}

/** Newest arrivals that the list has; the others are found by the filter. */
const LISTED = 100

/** Serves a list, which shows what arrives by itself where scripts run, and a page for each arrival. */
export function serveArrivals<T>(router: Router, arrivals: Arrivals<T>): void {
  const { tool, itemPath, all, numberOf, textOf, texts, columns, titleOf, cells, details } = arrivals
  const listOf = (t: LocalTexts, found: readonly T[]): Html => {
    const rows = found.slice(0, LISTED).map((one) => {
      const link = html`<a href="${itemPath}/${numberOf(one)}">${titleOf(t, one)}</a>`
      return [link, ...cells(t, one)]
    })
    const names = columns.map((column) => t(column))
    return html`<p role="status">${t(texts.count, { count: found.length })}</p>
      ${table(t(texts.list), names, rows, t)}
      ${found.length > LISTED && html`<p class="soft">${t('more', { count: LISTED })}</p>`}`
  }
  servePage(router, tool.path, (t, { query: { q }, originalUrl }) => {
    const query = typeof q === 'string' ? q.trim() : ''
    const fits = (one: T) => textOf(one).toLowerCase().includes(query.toLowerCase())
    const found = all().filter(fits).reverse()
    const body = html`<form method="get" action="${tool.path}" role="search" class="filters">
        <div>
          <label for="q">${t(texts.filter)}</label>
          <input id="q" name="q" type="search" value="${query}" />
        </div>
        <div><button class="plain" type="submit">${t('filter')}</button></div>
      </form>
      ${live(t, { here: originalUrl, now: new Date() }, listOf(t, found))}`
    return { ...toolPage(t, tool, t(tool.name), body), polls: true }
  })
  servePage(router, `${itemPath}/:number`, (t, { params: { number } }) => {
    const found = all().find((one) => numberOf(one) === Number(number))
    const body = html`${found ? details(t, found) : html`<p role="alert">${t('gone')}</p>`}
      <p><a href="${tool.path}">${t('back')}</a></p>`
    return { ...toolPage(t, tool, found ? titleOf(t, found) : t(tool.name), body), status: found ? 200 : 404 }
  })
}
