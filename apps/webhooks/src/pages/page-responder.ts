import type { Answer } from '@signet/http'
import type { Brand } from '@signet/brand'
import type { Language } from '@signet/language'
import { brandIcon, formScript, type Page, pageAnswer } from '@signet/pages'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession } from '../sessions/session-service.js'

type Options = { language: Language; status?: number; session?: OpenSession | undefined }

/** Makes answers from pages and redirects, with the cookie of a session that has a new id. */
export class PageResponder {
  readonly #basePath: string
  readonly #secure: boolean

  constructor(
    baseUrl: string,
    private readonly cookie: SessionCookie,
    private readonly brand: Brand,
    /** Where people manage their account. Null if the identity server has no such page. */
    readonly accountUrl: string | null,
  ) {
    this.#basePath = new URL(baseUrl).pathname.replace(/\/$/, '')
    this.#secure = baseUrl.startsWith('https://')
  }

  /** The name of the service for people. */
  get product(): string {
    return this.brand.name
  }

  /** The logo, as browsers get it. */
  get icon(): Answer {
    return brandIcon(this.brand)
  }

  /** A path of this service as browsers reach it. */
  path(below: string): string {
    return `${this.#basePath}${below}`
  }

  render(page: Page, { language, status = 200, session }: Options): Answer {
    return pageAnswer(page, {
      status,
      language,
      headers: this.cookie.headers(session?.newId),
      secure: this.#secure,
      icon: this.path('/favicon.svg'),
      // Only pages that poll have a script: for the others, a script is not worth a looser policy.
      ...(page.polls ? { formScript: formScript.at(this.path('/form.js')) } : {}),
      brand: this.brand,
    })
  }

  redirect(status: 302 | 303, location: string, session?: OpenSession): Answer {
    return {
      status,
      headers: {
        Location: location,
        'Cache-Control': 'no-store',
        Pragma: 'no-cache',
        'Referrer-Policy': 'no-referrer',
        ...this.cookie.headers(session?.newId),
      },
    }
  }
}
