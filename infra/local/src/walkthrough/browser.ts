import { load } from 'cheerio'
import withCookies from 'fetch-cookie'
import { check } from './http.js'

export interface Page {
  url: URL
  status: number
  html: string
}

interface Button {
  name: string
  value: string
}

/** As much of a browser as sign-in pages need: it keeps cookies, follows redirects, and sends forms as they are written. */
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

  /** Sends the page's form that has these fields, filled in, pressing a button when one is named. */
  submit(page: Page, values: Record<string, string>, button?: Button): Promise<Page> {
    const { action, method, fields } = formOf(page, values, button)
    const filled = { ...fields, ...values, ...(button && { [button.name]: button.value }) }
    const body = new URLSearchParams(filled)
    if (method === 'post') return this.open(action, { method: 'POST', body, headers: fromPage(page) })
    action.search = body.toString()
    return this.open(action)
  }
}

const fromPage = ({ url }: Page) => ({ origin: url.origin, 'sec-fetch-site': 'same-origin' })

/** A page may have several forms, such as "use another account"; the right one has what is to be filled in. */
export function formOf({ url, html }: Page, values: Record<string, string>, button?: Button) {
  const $ = load(html)
  const named = (form: ReturnType<typeof $>, name: string) =>
    form.find('input, button').filter((_, control) => $(control).attr('name') === name)
  const form = $('form')
    .filter((_, one) => Object.keys(values).every((name) => named($(one), name).length > 0))
    .filter(
      (_, one) => !button || named($(one), button.name).is((_, it) => $(it).attr('value') === button.value),
    )
    .first()
  check(form.length > 0, `the page has a form with ${[...Object.keys(values), button?.value].join(', ')}`)
  return {
    action: new URL(form.attr('action') || url.href, url),
    method: (form.attr('method') ?? 'get').toLowerCase(),
    fields: Object.fromEntries(form.serializeArray().map(({ name, value }) => [name, value])),
  }
}
