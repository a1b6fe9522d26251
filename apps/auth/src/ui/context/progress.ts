import type { Answer } from '@signet/http'
import type { Response } from 'express'
import type { FactorRules } from '../../factors/factor-rules.js'
import type { FlowService } from '../../code-exchange/flow-service.js'
import type { AccessTokens } from '../../sessions/access-tokens.js'
import type { SessionGate } from '../../sessions/session-gate.js'
import type { SessionService } from '../../sessions/session-service.js'
import type { Live, SignedIn } from '../../sessions/session.js'
import { tokenView } from '../../sessions/token-view.js'
import type { Factor } from '../../users/user.js'
import { withFragment, withQuery } from '../../verify/redirect-answer.js'
import type { Browser, BrowserState, Mark } from './browser-state.js'
import type { SignInPages } from './sign-in-pages.js'
import type { SignInContext } from './sign-in-context.js'

/** Somebody with a session of the pages. */
export type Person = Live & { readonly mark: Mark }

type Deps = {
  pages: SignInPages
  state: BrowserState
  gate: SessionGate
  sessions: SessionService
  flowExchanges: FlowService
  accessTokens: AccessTokens
  factorRules: Pick<FactorRules, 'verify'>
  /** How long the pages remember who signed in. */
  markMs: number
  now: () => Date
}

/** The steps after the first factor: a second factor, a new password, and the return to the application. */
export class Progress {
  constructor(private readonly deps: Deps) {}

  /** After a sign-in of any kind. */
  async signedIn(
    res: Response,
    browser: Browser,
    context: SignInContext,
    { user, session }: SignedIn,
  ): Promise<Answer> {
    const { state, markMs, now } = this.deps
    const mark = { userId: user.id, sessionId: session.id, until: now().getTime() + markMs }
    const marked = state.remember(res, browser, mark)
    const person = await this.personOf(marked)
    if (person === null) throw new Error('a session that was just opened is gone')
    return this.next(res, person, context)
  }

  /** Who is signed in on the pages, according to the database. */
  async personOf({ mark }: Browser): Promise<Person | null> {
    if (mark === null) return null
    const live = await this.deps.gate.find(mark.userId, mark.sessionId)
    return live && { ...live, mark }
  }

  async next(res: Response, person: Person, context: SignInContext): Promise<Answer> {
    const { pages } = this.deps
    if (this.openFactors(person).length > 0) return pages.redirect(pages.path('/factor', context))
    if (context.next === 'password') return pages.redirect(pages.path('/password', context))
    if (context.target === null) return pages.redirect(pages.path('', context))
    return this.handOver(res, person, context.target, context)
  }

  /** The factors that can still be required, authenticator apps before phones; empty once one was used. */
  openFactors({ user, session }: Person): readonly Factor[] {
    if (session.aal === 'aal2') return []
    const { verify } = this.deps.factorRules
    return user.factors
      .filter(({ status, factorType }) => status === 'verified' && verify[factorType])
      .sort((a, b) => Number(b.factorType === 'totp') - Number(a.factorType === 'totp'))
  }

  /**
   * Returns to the application like the flows of the API: with a code for PKCE, otherwise with tokens in the
   * fragment.
   */
  async handOver(
    res: Response,
    person: Person,
    target: string,
    { challenge }: Pick<SignInContext, 'challenge'>,
  ): Promise<Answer> {
    const { pages, state, flowExchanges } = this.deps
    // The session now belongs to the application; two holders would rotate the same refresh token against each other.
    state.forget(res)
    if (challenge === null) return pages.redirect(await this.#withTokens(target, person))
    return pages.redirect(withQuery(target, { code: await flowExchanges.handOver(person, challenge) }))
  }

  async #withTokens(target: string, person: Person): Promise<string> {
    const { sessions, accessTokens, now } = this.deps
    const signedIn = await sessions.resumeNow(person)
    const view = await tokenView(accessTokens, signedIn, now())
    return withFragment(target, {
      access_token: view.access_token,
      expires_at: String(view.expires_at),
      expires_in: String(view.expires_in),
      refresh_token: view.refresh_token,
      sb: '',
      token_type: view.token_type,
    })
  }
}
