import { randomBytes } from 'node:crypto'
import { TOTP } from 'otpauth'
import { FormBrowser, signInOnPage } from './form-browser.js'

const STEP_MS = 30_000

/** A person with an account at the real identity service. */
export class Person {
  readonly email = `${randomBytes(6).toString('hex')}@example.test`
  readonly password = `correct horse ${randomBytes(6).toString('hex')}`
  #jwt = ''
  #id = ''

  private constructor(
    private readonly authUrl: string,
    /** If it is not empty, the person signs up with it instead of the email address. */
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

  /** Adds an authenticator app. Returns a function that makes the code of the next time step, because each step works once. */
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

  /** Makes a personal token for `/v1`. */
  async personalToken(webhooksUrl: string): Promise<string> {
    const { token } = await this.#post<{ token: string }>('/account/tokens', { name: 'script' }, webhooksUrl)
    return token
  }

  /** Signs in on the pages of an authorization request, and approves it. Returns the status of the page they redirect to. */
  async approve(address: string): Promise<number> {
    const browser = new FormBrowser(new URL(address).origin)
    const consent = await signInOnPage(browser, await browser.get(address), this)
    const decided = await browser.submit(consent, '/decision', { decision: 'approve' })
    return (await browser.follow(decided)).status
  }

  async #post<T>(path: string, body: unknown, service = this.authUrl): Promise<T> {
    const response = await fetch(service + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#jwt}` },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}
