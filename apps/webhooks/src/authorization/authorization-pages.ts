import { type Answer } from '@signet/http'
import { describeRedirect } from '../clients/redirect-uri.js'
import { consentPage, scopeInWords } from '../pages/consent-page.js'
import { pageAnswer, type Page } from '../pages/page.js'
import { signInPage } from '../pages/sign-in-page.js'
import { csrfToken } from '../sessions/csrf.js'
import { type SessionCookie } from '../sessions/session-cookie.js'
import { type OpenSession } from '../sessions/session-service.js'
import { type PendingAuthorization } from './authorization-store.js'

/** One pending request in one session: what the pages are about. */
export type Visit = { txn: string; session: OpenSession; authorization: PendingAuthorization }

type SignInExtras = { status?: number; identifier?: string; notice?: string }
type Deps = { baseUrl: string; cookie: SessionCookie }

/** Builds the sign-in and consent pages of a visit, with their form tokens. */
export class AuthorizationPages {
  readonly #basePath: string
  readonly #secure: boolean

  constructor(private readonly deps: Deps) {
    this.#basePath = new URL(deps.baseUrl).pathname.replace(/\/$/, '')
    this.#secure = deps.baseUrl.startsWith('https://')
  }

  /** Whichever page comes next. */
  next(visit: Visit): Answer {
    return visit.authorization.needsSignIn ? this.signIn(visit) : this.consent(visit)
  }

  signIn({ txn, session, authorization }: Visit, { status = 200, ...extras }: SignInExtras = {}): Answer {
    const page = signInPage({
      ...extras,
      clientName: authorization.clientName,
      action: this.path('/login'),
      txn,
      csrf: csrfToken(session, txn, 'login'),
    })
    return this.#answer(page, session, status)
  }

  consent({ txn, session, authorization }: Visit): Answer {
    const page = consentPage({
      clientName: authorization.clientName,
      redirect: describeRedirect(authorization.redirectUri),
      email: session.email,
      scopes: authorization.scope.split(' ').map(scopeInWords),
      txn,
      decision: { action: this.path('/decision'), csrf: csrfToken(session, txn, 'decision') },
      logout: { action: this.path('/logout'), csrf: csrfToken(session, txn, 'logout') },
    })
    return this.#answer(page, session, 200)
  }

  /** 303 to the consent page, with the new session id. */
  toConsent(txn: string, session: OpenSession): Answer {
    return this.redirect(303, `${this.path('/consent')}?txn=${txn}`, session)
  }

  redirect(status: 302 | 303, location: string, session?: OpenSession): Answer {
    return {
      status,
      headers: {
        Location: location,
        'Cache-Control': 'no-store',
        Pragma: 'no-cache',
        'Referrer-Policy': 'no-referrer',
        ...this.deps.cookie.headers(session?.newId),
      },
    }
  }

  path(below: string): string {
    return `${this.#basePath}/oauth/authorize${below}`
  }

  #answer(page: Page, session: OpenSession, status: number): Answer {
    return pageAnswer(page, {
      status,
      headers: this.deps.cookie.headers(session.newId),
      secure: this.#secure,
    })
  }
}
