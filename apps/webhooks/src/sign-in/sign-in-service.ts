import type { RequestMeta } from '@signet/telemetry'
import type { AccountService } from '../accounts/account-service.js'
import type { IdentityClient } from '../identity/identity-client.js'
import { askIdentity } from '../identity/identity-outage.js'
import type { IdentityUser, UserJwtVerifier } from '../identity/user-jwt.js'
import type { Observer } from '../observers/observer.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import type { Session } from '../sessions/session-store.js'
import { challengeOf, openState, sealState, unverifiedReturnPath, verifierOf } from './sign-in-state.js'

/** Additional requests to the sign-in page (OpenID Connect Core section 3.1.2.1). */
export type SignInWish = {
  readonly prompt?: 'login' | 'select_account' | undefined
  readonly maxAge?: number | undefined
  readonly loginHint?: string | undefined
}

export type SignInOutcome =
  | { kind: 'signed_in'; session: OpenSession; returnTo: string }
  /** This browser was already signed in: the answer arrived a second time, or from a second tab. */
  | { kind: 'nothing_to_do'; returnTo: string }
  /** `isSignedIn`: whether the browser still is, as the person of an earlier sign-in. */
  | { kind: 'refused'; reason: SignInRefusal; returnTo: string | null; isSignedIn: boolean }

export type SignInRefusal = 'foreign' | 'not_completed' | 'second_factor_missing'

type Deps = {
  baseUrl: string
  /** URL of the sign-in page for browsers. */
  signInUrl: string
  /** Where the sign-in page ends its own session. Null if it has none. */
  signOutUrl: string | null
  identity: IdentityClient
  users: UserJwtVerifier
  accounts: AccountService
  sessions: SessionService
  observer: Observer
}

/** Signs people in as a PKCE client of the identity server (docs/specification.md#sign-in-and-consent, decision 0182). */
export class SignInService {
  constructor(private readonly deps: Deps) {}

  /** Returns the address of the sign-in page, from which this browser returns to one of our paths. */
  begin(session: Session, returnTo: string, { prompt, maxAge, loginHint }: SignInWish = {}): string {
    const state = sealState(session, returnTo)
    const url = new URL(this.deps.signInUrl)
    const parameters = {
      // The state is part of the return address, so that pages that do not know `state` also return it.
      redirect_to: `${this.deps.baseUrl}/sign-in/callback?state=${state}`,
      code_challenge: challengeOf(verifierOf(session, state)),
      code_challenge_method: 's256',
      prompt,
      max_age: maxAge?.toString(),
      login_hint: loginHint,
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, value)
    return url.href
  }

  /** Where to also end the session of the sign-in page, after which the browser returns. Null if there is no such address. */
  get signOutAddress(): string | null {
    const { baseUrl, signOutUrl } = this.deps
    if (signOutUrl === null) return null
    const url = new URL(signOutUrl)
    url.searchParams.set('redirect_to', `${baseUrl}/sign-in/callback?signed_out=1`)
    return url.href
  }

  /** Handles the response of the sign-in page. Without a code, nobody signed in. */
  async finish(
    session: Session | null,
    { state, code }: { state: string; code: string | undefined },
    { clientIp, limit }: { clientIp: string; limit: () => Promise<void> },
    meta: RequestMeta,
  ): Promise<SignInOutcome> {
    const returnTo = session && openState(session, state)
    if (!session || returnTo === null) return this.#unknownState(session, state, meta)
    const refuse = (reason: SignInRefusal): SignInOutcome => {
      this.deps.observer.login('refused', { reason }, meta)
      return { kind: 'refused', reason, returnTo, isSignedIn: session.accountId !== null }
    }
    if (code === undefined) return refuse('not_completed')
    // Counts only now: any site can send browsers here with its own state, which would use up the limit for everybody behind an
    // address.
    await limit()
    const verified = await this.#exchange(code, verifierOf(session, state), clientIp, meta)
    if (!verified) return refuse('not_completed')
    const { user, hasSecondFactor } = verified
    // The sign-in page asks for the second factor. A code of a flow that does not, such as an emailed link, must not count as one that
    // does.
    if (hasSecondFactor && !user.secondFactor) return refuse('second_factor_missing')
    const renewed = (await this.deps.accounts.admits(user)) && (await this.#open(session, user))
    if (!renewed) return refuse('not_completed')
    this.deps.observer.login('ok', { accountId: user.accountId }, meta)
    return { kind: 'signed_in', session: renewed, returnTo }
  }

  #unknownState(session: Session | null, state: string, meta: RequestMeta): SignInOutcome {
    const returnTo = unverifiedReturnPath(state, this.deps.baseUrl)
    if (session?.accountId != null && returnTo !== null) return { kind: 'nothing_to_do', returnTo }
    this.deps.observer.login('refused', { reason: 'foreign' }, meta)
    return { kind: 'refused', reason: 'foreign', returnTo: null, isSignedIn: session?.accountId != null }
  }

  async #exchange(
    code: string,
    verifier: string,
    clientIp: string,
    meta: RequestMeta,
  ): Promise<{ user: IdentityUser; hasSecondFactor: boolean } | null> {
    const { identity, users, observer } = this.deps
    const exchanged = await askIdentity(observer, meta, () =>
      identity.exchangeCode({ code, verifier }, clientIp),
    )
    const user = exchanged && (await users.verify(exchanged.accessToken))
    return user && { user, hasSecondFactor: exchanged.hasSecondFactor }
  }

  #open(
    session: Session,
    { accountId, email, sessionId, issuedAt, provedAt }: IdentityUser,
  ): Promise<OpenSession | null> {
    const account = {
      id: accountId,
      email,
      identitySessionId: sessionId,
      authenticatedAt: issuedAt,
      provedAt,
    }
    return this.deps.sessions.signIn(session, account)
  }
}
