import { type ProviderTokens } from '../provider.js'

/** The request as strategies see it: only what they are to read, and the flow it belongs to. */
export type StrategyRequest = {
  query: Readonly<Record<string, string>>
  body: Readonly<Record<string, string>>
  flow: StrategyFlow
}

/** The row of a flow: kept while the user is at the provider, found again by the state that comes back. */
export type StrategyFlow = {
  /** Also the state. */
  readonly id: string
  /** What the strategy keeps about the flow, if anything. */
  readonly secret: string | null
  /** Stores the row before the user leaves. */
  save(secret: string | null): Promise<void>
}

export type StrategyOptions = {
  scope?: string[]
  callbackURL?: string
  /** Parameters of the authorize URL beside the standard ones. */
  parameters?: Readonly<Record<string, string>>
}

/** The part of a Passport strategy that is used here. */
export type Strategy = { authenticate(this: unknown, req: never, options: StrategyOptions): unknown }

export type StrategyOutcome = { kind: 'redirect'; url: string } | { kind: 'tokens'; tokens: ProviderTokens }

/**
 * Runs a Passport strategy outside of its middleware: there is no session to log into, and a redirect may have to be
 * answered as JSON. The strategy reports through the actions that Passport gives it.
 */
export function runStrategy(
  strategy: Strategy,
  req: StrategyRequest,
  options: StrategyOptions = {},
): Promise<StrategyOutcome> {
  return new Promise((resolve, reject) => {
    const actions = {
      redirect: (url: string) => resolve({ kind: 'redirect', url }),
      success: (tokens: ProviderTokens) => resolve({ kind: 'tokens', tokens }),
      fail: (reason?: unknown) => reject(new Error('the strategy refused', { cause: reason })),
      pass: () => reject(new Error('the strategy did nothing')),
      error: (error: unknown) =>
        reject(error instanceof Error ? error : new Error('the strategy failed', { cause: error })),
    }
    // One object for each run, as Passport does: strategies are shared by all requests.
    const run = Object.assign(Object.create(strategy) as Strategy, actions)
    run.authenticate(req as never, options)
  })
}
