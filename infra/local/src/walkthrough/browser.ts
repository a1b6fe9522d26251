import { load } from 'cheerio'
import withCookies from 'fetch-cookie'
import { check } from './http.js'

export interface Page {
  url: URL
  status: number
  html: string
}

/** The parts of a browser that sign-in pages need: it keeps cookies, follows redirects, and sends forms as they are written. */
export class Browser {
  readonly #fetch: typeof fetch

  constructor(fetchOne: typeof fetch) {
    this.#fetch = withCookies(fetchOne)
  }

  async open(url: string | URL, init: RequestInit = {}): Promise<Page> {
    const headers = { accept: 'text/html', ...init.headers }
    const response = await this.#fetch(url, { redirect: 'follow', ...init, headers })
    return { url: new URL(response.url), status: response.status, html: await response.text() }
  }

  /** Posts the page's form that has all these fields, with their values. A pressed button counts as a field. */
  submit(page: Page, values: Record<string, string>): Promise<Page> {
    const { action, fields } = formOf(page, values)
    const headers = { origin: page.url.origin, 'sec-fetch-site': 'same-origin' }
    return this.open(action, { method: 'POST', body: new URLSearchParams({ ...fields, ...values }), headers })
  }
}

/** Finds the right form on a page with several, such as "use another account": the one that has the fields to fill in, or the button. */
export function formOf({ url, html }: Page, values: Record<string, string>) {
  const $ = load(html)
  const wanted = Object.entries(values).map(
    ([name, value]) => `:has(input[name="${name}"], button[name="${name}"][value="${value}"])`,
  )
  const form = $(`form[method=post]${wanted.join('')}`).first()
  check(form.length > 0, `the page has a form with ${Object.keys(values).join(', ')}`)
  return {
    action: new URL(form.attr('action') || url.href, url),
    fields: Object.fromEntries(form.serializeArray().map(({ name, value }) => [name, value])),
  }
}
