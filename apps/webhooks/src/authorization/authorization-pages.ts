import type { Answer } from '@signet/http'
import { type Page, pageAnswer } from '@signet/pages'
import { describeRedirect } from '../redirects/redirect-uri.js'
import { callbackPage } from '../pages/callback-page.js'
import { consentPage, scopeInWords } from '../pages/consent-page.js'
import { factorPage } from '../pages/factor-page.js'
import { mailSentPage, signInPage } from '../pages/sign-in-page.js'
import { csrfToken } from '../sessions/csrf.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession } from '../sessions/session-service.js'
import type { PendingSignIn } from '../identity/pending-sign-in.js'
import type { OfferedProviders } from '../pages/offered-providers.js'
import type { SignInOptions } from '../pages/sign-in-options.js'
import type { PendingAuthorization } from './authorization-store.js'

/** A pending authorization request in one session: what the pages are about. */
export type AuthorizationContext = { txn: string; session: OpenSession; authorization: PendingAuthorization }

type SignInExtras = { status?: number; identifier?: string; notice?: string }
type Deps = {
  baseUrl: string
  identityPublicUrl: string
  cookie: SessionCookie
  signInOptions: SignInOptions
  offeredProviders: OfferedProviders
}

/** Builds the pages of an authorization, with their form tokens. */
export class AuthorizationPages {
  readonly #basePath: string
  readonly #secure: boolean

  constructor(private readonly deps: Deps) {
    this.#basePath = new URL(deps.baseUrl).pathname.replace(/\/$/, '')
    this.#secure = deps.baseUrl.startsWith('https://')
  }

  /** The sign-in page if this request needs a sign-in, otherwise the consent page. */
  async next(context: AuthorizationContext): Promise<Answer> {
    return context.authorization.needsSignIn ? this.signIn(context) : this.consent(context)
  }

  async signIn(
    { txn, session, authorization }: AuthorizationContext,
    { status = 200, ...extras }: SignInExtras = {},
  ): Promise<Answer> {
    const providers = await this.deps.offeredProviders.list()
    const page = signInPage({
      ...extras,
      clientName: authorization.clientName,
      action: this.path('/login'),
      txn,
      csrf: csrfToken(session, txn, 'login'),
      mailAction: this.deps.signInOptions.magicLink ? this.path('/mail') : undefined,
      providers: providers.map((name) => ({ name, href: this.#providerUrl(name, txn) })),
      captcha: this.deps.signInOptions.captcha,
    })
    return this.#answer(page, session, status)
  }

  secondFactor(
    { txn, session }: AuthorizationContext,
    pending: PendingSignIn,
    extras: SignInExtras = {},
  ): Answer {
    const { status = 200, notice } = extras
    const factor = pending.factors.find(({ id }) => id === pending.factorId)
    if (!factor) return this.toConsent(txn, session)
    const page = factorPage({
      txn,
      factor,
      codeExpected: factor.type === 'totp' || pending.challengeId !== null,
      others: pending.factors.filter(({ id }) => id !== factor.id),
      verify: { action: this.path('/factor'), csrf: csrfToken(session, txn, 'factor') },
      choose: { action: this.path('/challenge'), csrf: csrfToken(session, txn, 'challenge') },
      ...(notice === undefined ? {} : { notice }),
    })
    return this.#answer(page, session, status)
  }

  mailSent({ session }: AuthorizationContext, email: string): Answer {
    return this.#answer(mailSentPage({ email }), session, 200)
  }

  callback({ txn, session }: AuthorizationContext): Answer {
    const page = callbackPage({
      txn,
      action: this.path('/session'),
      csrf: csrfToken(session, txn, 'session'),
    })
    return this.#answer(page, session, 200)
  }

  consent({ txn, session, authorization }: AuthorizationContext): Answer {
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
    return this.redirect(303, this.step('consent', txn), session)
  }

  /** Address of a later step of the same authorization. */
  step(name: 'consent' | 'factor', txn: string): string {
    return `${this.path(`/${name}`)}?txn=${txn}`
  }

  /** Where the identity server sends the browser after a sign-in of its own. */
  callbackUrl(txn: string): string {
    return `${this.deps.baseUrl}/oauth/callback?txn=${txn}`
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

  #providerUrl(provider: string, txn: string): string {
    const query = new URLSearchParams({ provider, redirect_to: this.callbackUrl(txn) })
    return `${this.deps.identityPublicUrl}/authorize?${query.toString()}`
  }

  #answer(page: Page, session: OpenSession, status: number): Answer {
    return pageAnswer(page, {
      status,
      headers: this.deps.cookie.headers(session.newId),
      secure: this.#secure,
    })
  }
}
