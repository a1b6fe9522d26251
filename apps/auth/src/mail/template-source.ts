import { parseTemplate, type Template } from '@signet/mail'
import type { Observer } from '../observers/observer.js'
import type { Outbound } from '../outbound/outbound.js'

const FRESH_MS = 10 * 60_000
const RETRY_MS = 10_000
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1_000_000

type Deps = { outbound: Outbound; observer: Pick<Observer, 'mailTemplateUnavailable'>; now?: () => Date }

/** An email template at a URL (docs/specification.md#emails). */
export class TemplateSource {
  #template: Template | undefined
  /** The URL is not requested before this time; 0 at first. */
  #nextLoadAt = 0
  #loading: Promise<void> | undefined

  constructor(
    private readonly url: string,
    private readonly deps: Deps,
  ) {}

  /**
   * The last good copy, or undefined until there is one. An email waits only for the first copy. Later copies are fetched in the
   * background, so a slow template server never delays a sign-in. `requestId` belongs to the request behind the email, if there is one.
   */
  async get(requestId?: string): Promise<Template | undefined> {
    const loading = this.#loadWhenDue(requestId)
    if (this.#template === undefined) await loading
    return this.#template
  }

  #loadWhenDue(requestId: string | undefined): Promise<void> | undefined {
    if (this.#loading === undefined && this.#now() >= this.#nextLoadAt) {
      this.#loading = this.#load(requestId).finally(() => (this.#loading = undefined))
    }
    return this.#loading
  }

  async #load(requestId: string | undefined): Promise<void> {
    try {
      const { status, text } = await this.deps.outbound.request({
        url: this.url,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      })
      if (status !== 200) throw new Error(`status ${status}`)
      this.#template = parseTemplate(text)
      this.#nextLoadAt = this.#now() + FRESH_MS
    } catch (error) {
      this.#nextLoadAt = this.#now() + RETRY_MS
      this.deps.observer.mailTemplateUnavailable(this.url, error, requestId)
    }
  }

  #now(): number {
    return (this.deps.now?.() ?? new Date()).getTime()
  }
}
