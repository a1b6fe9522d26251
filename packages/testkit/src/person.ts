import { randomBytes } from 'node:crypto'
import { TOTP } from 'otpauth'

const STEP_MS = 30_000

/** Somebody with an account at the real identity service. */
export class Person {
  readonly email = `${randomBytes(6).toString('hex')}@example.test`
  readonly password = `correct horse ${randomBytes(6).toString('hex')}`
  #jwt = ''
  #id = ''

  private constructor(
    private readonly authUrl: string,
    /** Signs up with it in place of the email address, when there is one. */
    readonly phone: string,
  ) {}

  static async signUp(authUrl: string, phone = ''): Promise<Person> {
    const person = new Person(authUrl, phone)
    const { email, password } = person
    const { access_token: jwt, user } = await person.#post<{ access_token: string; user: { id: string } }>(
      '/signup',
      phone === '' ? { email, password } : { phone, password },
    )
    person.#jwt = jwt
    person.#id = user.id
    return person
  }

  /** Id of the account. */
  get id(): string {
    return this.#id
  }

  /** Adds an authenticator app. The result makes the code of the next time step, because each step works once. */
  async addAuthenticator(): Promise<() => string> {
    const { id, totp } = await this.#post<{ id: string; totp: { secret: string } }>('/factors', {
      factor_type: 'totp',
    })
    const generator = new TOTP({ secret: totp.secret })
    const { id: challenge } = await this.#post<{ id: string }>(`/factors/${id}/challenge`, {})
    await this.#post(`/factors/${id}/verify`, { challenge_id: challenge, code: generator.generate() })
    return () => generator.generate({ timestamp: Date.now() + STEP_MS })
  }

  /** Adds a phone that gets `code` instead of messages. */
  async addPhone(phone: string, code: string): Promise<void> {
    const { id } = await this.#post<{ id: string }>('/factors', { factor_type: 'phone', phone })
    const { id: challenge } = await this.#post<{ id: string }>(`/factors/${id}/challenge`, {})
    await this.#post(`/factors/${id}/verify`, { challenge_id: challenge, code })
  }

  /** Signs in on the service's pages and approves, as at the given address; ends where the pages send the browser. */
  async approve(address: string): Promise<number> {
    const cookies = new Map<string, string>()
    const visit = async (
      url: URL,
      form?: Record<string, string>,
    ): Promise<{ response: Response; url: URL }> => {
      const response = await fetch(url, {
        method: form ? 'POST' : 'GET',
        headers: {
          accept: 'text/html',
          cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
          ...(form ? { origin: url.origin, 'sec-fetch-site': 'same-origin' } : {}),
        },
        ...(form ? { body: new URLSearchParams(form) } : {}),
        redirect: 'manual',
      })
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        cookies.set(name, value)
      }
      const location = response.headers.get('location')
      return location === null ? { response, url } : visit(new URL(location, url))
    }
    const submit = async (
      page: { response: Response; url: URL },
      action: string,
      values: Record<string, string>,
    ) => {
      const html = await page.response.text()
      return visit(new URL(`/oauth/authorize/${action}`, page.url), {
        ...hiddenFields(html, action),
        ...values,
      })
    }
    const signInPage = await visit(new URL(address))
    const consentPage = await submit(signInPage, 'login', { identifier: this.email, password: this.password })
    const { response } = await submit(consentPage, 'decision', { decision: 'approve' })
    return response.status
  }

  async #post<T>(path: string, body: unknown): Promise<T> {
    const response = await fetch(this.authUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#jwt}` },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}

/** Hidden fields of the form with this action. */
function hiddenFields(html: string, action: string): Record<string, string> {
  const form = html.split('<form').find((one) => one.includes(`/oauth/authorize/${action}"`)) ?? ''
  const inputs = form.match(/<input[^>]*type="hidden"[^>]*>/g) ?? []
  const attribute = (input: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? ''
  return Object.fromEntries(inputs.map((input) => [attribute(input, 'name'), attribute(input, 'value')]))
}
