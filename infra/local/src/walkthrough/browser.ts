import { parse } from 'parse5'
import { type Element, elements } from '../elements.js'
import { check, type Exchange, locationOf, send } from './http.js'

export interface Form {
  action: URL
  method: string
  /** Fields with their initial values, hidden ones included; buttons are not among them. */
  fields: Record<string, string>
  /** Names and values of the submit buttons. */
  buttons: { name: string; value: string }[]
}

export interface Page {
  url: URL
  exchange: Exchange
}

const REDIRECTS = new Set([301, 302, 303])
const MAX_REDIRECTS = 10

/** As much of a browser as sign-in pages need: cookies per origin, redirects, and forms sent as they are written. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()

  constructor(readonly at: string) {}

  open(url: string | URL): Promise<Page> {
    return this.#follow('GET', new URL(url), undefined)
  }

  /** Sends the page's only form with the given values filled in, pressing a button when one is named. */
  submit(
    page: Page,
    values: Record<string, string>,
    button?: { name: string; value: string },
  ): Promise<Page> {
    const form = pickForm(formsOf(page), values, button)
    const fields = { ...form.fields, ...values, ...(button && { [button.name]: button.value }) }
    if (form.method === 'post') return this.#follow('POST', form.action, fields, page.url.origin)
    const url = new URL(form.action)
    url.search = new URLSearchParams(fields).toString()
    return this.#follow('GET', url, undefined)
  }

  async #follow(
    method: string,
    url: URL,
    form: Record<string, string> | undefined,
    origin?: string,
  ): Promise<Page> {
    let next = { method, url, form }
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const exchange = await send(next.method, next.url.href, {
        at: next.url.origin === url.origin ? this.at : 'your app',
        form: next.form,
        headers: this.#headers(next.url, next.method, origin),
      })
      this.#remember(next.url, exchange.headers)
      if (!REDIRECTS.has(exchange.status)) return { url: next.url, exchange }
      next = { method: 'GET', url: locationOf(exchange, next.url.href), form: undefined }
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects`)
  }

  #headers(url: URL, method: string, origin: string | undefined): Record<string, string> {
    const cookies = [...(this.#cookies.get(url.host) ?? [])].map(([name, value]) => `${name}=${value}`)
    return {
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
      ...(method === 'POST' && origin && { origin, 'sec-fetch-site': 'same-origin' }),
    }
  }

  #remember(url: URL, headers: Headers): void {
    const jar = this.#cookies.get(url.host) ?? new Map<string, string>()
    this.#cookies.set(url.host, jar)
    for (const cookie of headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      const name = pair.slice(0, pair.indexOf('=')).trim()
      if (/;\s*max-age=0\b/i.test(cookie)) jar.delete(name)
      else jar.set(name, pair.slice(pair.indexOf('=') + 1).trim())
    }
  }
}

/** All forms of a page, as a browser would understand them. */
export function formsOf({ url, exchange }: Page): Form[] {
  return [...elements(parse(exchange.text))]
    .filter(({ tagName }) => tagName === 'form')
    .map((form) => {
      const controls = [...elements(form)]
      return {
        action: new URL(attribute(form, 'action') || url.href, url),
        method: (attribute(form, 'method') || 'get').toLowerCase(),
        fields: Object.fromEntries(
          controls
            .filter(
              (control) => control.tagName === 'input' && !isButton(control) && attribute(control, 'name'),
            )
            .map((control) => [attribute(control, 'name'), attribute(control, 'value')]),
        ),
        buttons: controls
          .filter(isButton)
          .map((control) => ({ name: attribute(control, 'name'), value: attribute(control, 'value') })),
      }
    })
}

/** A page may have several forms, such as "use another account"; the right one has what is to be filled in. */
function pickForm(
  forms: Form[],
  values: Record<string, string>,
  button?: { name: string; value: string },
): Form {
  const form = forms.find(
    ({ fields, buttons }) =>
      Object.keys(values).every((name) => name in fields) &&
      (!button || buttons.some(({ name, value }) => name === button.name && value === button.value)),
  )
  check(form !== undefined, `the page has a form with ${[...Object.keys(values), button?.value].join(', ')}`)
  return form
}

function isButton(element: Element): boolean {
  if (element.tagName === 'button') return true
  return element.tagName === 'input' && /^(submit|button|image|reset)$/i.test(attribute(element, 'type'))
}

const attribute = ({ attrs }: Element, name: string): string =>
  attrs.find((attr) => attr.name === name)?.value ?? ''
