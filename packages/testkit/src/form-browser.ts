/** A page or redirect as a browser without scripts sees it. */
export type Seen = { url: string; status: number; text: string; headers: Headers; location: string | null }

export type Form = { action: string; fields: Record<string, string> }

/**
 * Keeps cookies, submits the forms of pages as they are, and follows redirects only when told to. A form that is answered with a page
 * fails the test unless the form was refused: a reload would send the form again, and the address would lead elsewhere.
 */
export class FormBrowser {
  readonly cookies = new Map<string, string>()

  constructor(
    readonly origin: string,
    readonly headers: Record<string, string> = {},
    readonly fetch: (url: string, init: RequestInit) => Promise<Response> = globalThis.fetch,
  ) {}

  get(url: string, headers: Record<string, string> = {}): Promise<Seen> {
    return this.#send(url, { method: 'GET', headers })
  }

  async post(
    url: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Seen> {
    const seen = await this.#send(url, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: new URL(url, this.origin).origin, 'sec-fetch-site': 'same-origin', ...headers },
    })
    if (seen.status < 300 && seen.headers.get('content-type')?.startsWith('text/html'))
      throw new Error(`a page is the answer of a form: POST ${seen.url}`)
    return seen
  }

  /** Submits the form whose action ends in `action`; `fields` adds or replaces fields. */
  submit(page: Seen, action: string, fields: Record<string, string> = {}, headers = {}): Promise<Seen> {
    const form = formOf(page, action)
    return this.post(new URL(form.action, page.url).href, { ...form.fields, ...fields }, headers)
  }

  async follow(seen: Seen): Promise<Seen> {
    if (seen.location === null) throw new Error(`no redirect but ${seen.status}: ${seen.text}`)
    return this.get(new URL(seen.location, seen.url).href)
  }

  /** Follows redirects to their end, over several services. */
  async settle(seen: Seen): Promise<Seen> {
    return seen.location === null ? seen : this.settle(await this.follow(seen))
  }

  async #send(url: string, init: RequestInit): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const address = new URL(url, this.origin).href
    const response = await this.fetch(address, {
      ...init,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        ...this.headers,
        ...(cookie === '' ? {} : { cookie }),
        ...(init.headers as Record<string, string>),
      },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.cookies.set(name, value)
    }
    return {
      url: address,
      status: response.status,
      text: await response.text(),
      headers: response.headers,
      location: response.headers.get('location'),
    }
  }
}

/** A form of a page: where it goes, and its hidden fields. */
export function formOf(page: Seen, action: string): Form {
  for (const [, target = '', inner = ''] of page.text.matchAll(
    /<form[^>]*action="([^"]*)"[^>]*>([^]*?)<\/form>/g,
  )) {
    // A second button may send the same form elsewhere.
    const other = /formaction="([^"]*)"/.exec(inner)?.[1]
    const goal = [target, other].find((url) => url?.endsWith(action))
    if (goal === undefined) continue
    const fields = Object.fromEntries(
      [...inner.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, unescaped(value)],
      ),
    ) as Record<string, string>
    return { action: goal, fields }
  }
  throw new Error(`no form ${action} on the page (${page.status}): ${page.text.slice(-800)}`)
}

const unescaped = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))

/** Follows a redirect to the sign-in page, signs in, and returns the page that the person was on the way to. */
export async function signInOnPage(
  browser: FormBrowser,
  redirect: Seen,
  { email, password }: { email: string; password: string },
): Promise<Seen> {
  const page = await browser.follow(redirect)
  const answer = await browser.submit(page, '/ui/sign-in', { identifier: email, password })
  // The first redirect leads to our callback, the second one to the page.
  return browser.follow(await browser.follow(answer))
}
