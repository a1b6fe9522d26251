import type { Answer } from '@signet/http'
import { redirectHost } from '../redirects/redirect-uri.js'
import { consentPage } from '../pages/consent-page.js'
import type { PageResponder } from '../pages/page-responder.js'
import { signInAgainPage } from '../pages/sign-in-again-page.js'
import type { Texts } from '../pages/texts.js'
import { csrfToken } from '../sessions/csrf.js'
import type { OpenSession } from '../sessions/session-service.js'
import type { SignInService, SignInWish } from '../sign-in/sign-in-service.js'
import type { PendingAuthorization } from './authorization-store.js'

/** A pending authorization request in one session, which the pages are about. */
export type AuthorizationContext = { txn: string; session: OpenSession; authorization: PendingAuthorization }

type Deps = {
  responder: PageResponder
  signIn: SignInService
  /** Days after which every grant ends; 0 for never. */
  grantMaxDays: number
}

/** The pages of an authorization, with their form tokens, and the redirect to its sign-in. */
export class AuthorizationPages {
  constructor(private readonly deps: Deps) {}

  /** Redirects to the sign-in page of the identity server, which leads back to consent. */
  toSignIn({ txn, session }: AuthorizationContext, wish: SignInWish, status: 302 | 303 = 302): Answer {
    const { responder, signIn } = this.deps
    return responder.redirect(status, signIn.begin(session, this.#step('consent', txn), wish), session)
  }

  /** Redirects after a form: to consent, or to the page that says that nobody is signed in. */
  toConsent(txn: string): Answer {
    return this.deps.responder.redirect(303, this.#step('consent', txn))
  }

  signInAgain(t: Texts, { txn, session, authorization: { clientName } }: AuthorizationContext): Answer {
    const page = signInAgainPage(t, { clientName, href: this.#step('sign-in', txn) })
    return this.deps.responder.render(page, { language: t.language, session })
  }

  consent(t: Texts, { txn, session, authorization }: AuthorizationContext): Answer {
    const page = consentPage(t, {
      clientName: authorization.clientName,
      redirectHost: redirectHost(authorization.redirectUri),
      email: session.email,
      scopes: authorization.scope.split(' '),
      refreshes: authorization.refreshes,
      maxDays: this.deps.grantMaxDays,
      txn,
      decision: { action: this.#path('/decision'), csrf: csrfToken(session, txn, 'decision') },
      logout: { action: this.#path('/logout'), csrf: csrfToken(session, txn, 'logout') },
    })
    return this.deps.responder.render(page, { language: t.language, session })
  }

  #step(name: 'consent' | 'sign-in', txn: string): string {
    return `${this.#path(`/${name}`)}?txn=${txn}`
  }

  #path(below: string): string {
    return this.deps.responder.path(`/oauth/authorize${below}`)
  }
}
