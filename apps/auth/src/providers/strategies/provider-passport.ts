import passport from 'passport'
import type { ProviderTokens } from '../model/provider.js'
import { failureOf, type Strategy, type StrategyOptions, type StrategyRequest } from './strategy.js'

export type StrategyOutcome = { kind: 'redirect'; url: string } | { kind: 'tokens'; tokens: ProviderTokens }

/**
 * Passport, for providers only: a separate instance without sessions. A strategy ends with a redirect or with tokens. Both are returned
 * instead of sent, because a redirect may have to become JSON and tokens are not a session yet (decision 0150).
 */
export class ProviderPassport {
  readonly #passport = new passport.Passport()

  constructor() {
    // Passport includes a strategy that reads sessions, which do not exist here.
    this.#passport.unuse('session')
  }

  use(name: string, strategy: Strategy): void {
    this.#passport.use(name, strategy as unknown as passport.Strategy)
  }

  /** Uses the strategy by name. Passport then creates an object for this run alone, so parallel sign-ins share nothing. */
  authenticate(name: string, req: StrategyRequest, options: StrategyOptions = {}): Promise<StrategyOutcome> {
    return new Promise((resolve, reject) => {
      const done: passport.AuthenticateCallback = (error: unknown, tokens, challenge) => {
        if (error) reject(failureOf(error))
        else if (tokens) resolve({ kind: 'tokens', tokens: tokens as ProviderTokens })
        else reject(new Error('the strategy refused', { cause: challenge }))
      }
      const middleware = this.#passport.authenticate(name, { session: false, ...options }, done) as Middleware
      const redirected = new RedirectResponse((url) => resolve({ kind: 'redirect', url }))
      middleware(req, redirected, (error) => reject(new Error('the strategy did nothing', { cause: error })))
    })
  }
}

type Middleware = (req: StrategyRequest, res: RedirectResponse, next: (error?: unknown) => void) => void

/** The part of a response that Passport uses to redirect a browser. */
class RedirectResponse {
  statusCode = 200
  #location = ''

  constructor(private readonly onEnd: (location: string) => void) {}

  setHeader(name: string, value: string): void {
    if (name === 'Location') this.#location = value
  }

  end(): void {
    this.onEnd(this.#location)
  }
}
