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
import type { Browser, BrowserState, Mark } from './browser-state.js'
import type { SignInPages } from './sign-in-pages.js'
import { clientTarget, errorTarget, isSilentTarget, type ClientError } from './client-answer.js'
import { proved, type SignInContext } from './sign-in-context.js'

/** Someone with a session of the pages. */
export type Person = Live & { readonly mark: Mark }

/** An application that waits for an answer. */
type Waiting = SignInContext & { readonly target: string }

type Deps = {
  pages: SignInPages
  state: BrowserState
  gate: SessionGate
  sessions: SessionService
  flowExchanges: FlowService
  accessTokens: AccessTokens
  factorRules: Pick<FactorRules, 'verify'>
  externalUrl: string
  /** How long the pages remember who signed in. */
  sessionMs: number
  now: () => Date
}

/** The steps after the first factor: a second factor, a new password, and returning to the application. */
export class Progress {
  constructor(private readonly deps: Deps) {}

  /** Remembers the person after a sign-in of any kind, and continues with the next step. */
  async signedIn(
    res: Response,
    browser: Browser,
    context: SignInContext,
    { user, session }: SignedIn,
  ): Promise<Answer> {
    const { state, sessions, sessionMs, now } = this.deps
    const before = await this.personOf(browser)
    if (before !== null && before.user.id !== user.id) await sessions.leavePages(before)
    const until = now().getTime() + sessionMs
    const signInId = state.signInId(browser, user.id)
    await sessions.keepOnPages(session, { signInId, until: new Date(until) })
    const marked = state.remember(res, browser, { userId: user.id, sessionId: session.id, until })
    const person = await this.personOf(marked)
    if (person === null) throw new Error('a session that was just opened is gone')
    return this.next(person, proved(context))
  }

  /** The person who is signed in on the pages, according to the database. */
  async personOf({ mark }: Browser): Promise<Person | null> {
    if (mark === null) return null
    const live = await this.deps.gate.find(mark.userId, mark.sessionId)
    return live && { ...live, mark }
  }

  async next(person: Person, context: SignInContext): Promise<Answer> {
    const { pages } = this.deps
    if (this.openFactors(person).length > 0) return pages.redirect(pages.path('/factor', context))
    // Such an account gets no tokens, so this is the only page it can use.
    if (person.user.deletionDueAt !== null) return pages.redirect(pages.path('/account/delete', context))
    if (context.next === 'account') return pages.redirect(pages.path('/account', { ...context, next: null }))
    if (context.next === 'password') return pages.redirect(pages.path('/password', context))
    if (context.next === 'operator') return pages.redirect(pages.action('/operator'))
    if (context.target === null) return pages.redirect(pages.path('', context))
    return this.#handOver(person, { ...context, target: context.target })
  }

  /** Whether the application asks for a new sign-in instead of the current one. */
  isStale({ session }: Person, { prompt, maxAgeSeconds }: SignInContext): boolean {
    if (prompt === 'login') return true
    if (maxAgeSeconds === null) return false
    return session.createdAt.getTime() + maxAgeSeconds * 1000 < this.deps.now().getTime()
  }

  /** The answer to `prompt=none`: a code or an error, and never a page. */
  async silent(person: Person | null, context: Waiting): Promise<Answer> {
    const { pages, externalUrl } = this.deps
    const refuse = (error: ClientError) => pages.redirect(errorTarget(context, error))
    if (context.challenge === null) return refuse('invalid_request')
    if (person === null || this.isStale(person, context) || isSomebodyElse(person, context))
      return refuse('login_required')
    if (this.openFactors(person).length > 0 || person.user.deletionDueAt !== null)
      return refuse('interaction_required')
    if (!isSilentTarget(context.target, externalUrl)) return refuse('interaction_required')
    return this.#handOver(person, context)
  }

  /** The factors that the person can still be asked for, authenticator apps first; empty once one was used. */
  openFactors({ user, session }: Person): readonly Factor[] {
    if (session.aal === 'aal2') return []
    const { verify } = this.deps.factorRules
    return user.factors
      .filter(({ status, factorType }) => status === 'verified' && verify[factorType])
      .sort((a, b) => Number(b.factorType === 'totp') - Number(a.factorType === 'totp'))
  }

  /**
   * Returns to the application like the flows of the API: with a code for PKCE, otherwise with tokens in the fragment.
   * The application gets a separate session. The pages keep theirs, so nobody has to use a second factor twice.
   */
  async #handOver(person: Person, context: Waiting): Promise<Answer> {
    const { pages, flowExchanges } = this.deps
    const { challenge } = context
    const parameters =
      challenge === null
        ? await this.#tokensFor(person)
        : { code: await flowExchanges.handOver(person, challenge) }
    return pages.redirect(clientTarget(context, parameters))
  }

  async #tokensFor(person: Person): Promise<Record<string, string>> {
    const { sessions, accessTokens, now } = this.deps
    const view = await tokenView(accessTokens, await sessions.openBesideNow(person), now())
    return {
      access_token: view.access_token,
      expires_at: String(view.expires_at),
      expires_in: String(view.expires_in),
      refresh_token: view.refresh_token,
      sb: '',
      token_type: view.token_type,
    }
  }
}

const isSomebodyElse = ({ user }: Person, { loginHint }: SignInContext): boolean =>
  loginHint !== null && loginHint.toLowerCase() !== user.email && loginHint.replace(/^\+/, '') !== user.phone
