import type { ProviderTokens } from '../model/provider.js'

/** The request as strategies see it: only what they may read, and the flow it belongs to. */
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
  /** Additional parameters of the authorize URL. */
  parameters?: Readonly<Record<string, string>>
}

/** The part of a Passport strategy that is used here. */
export type Strategy = { authenticate(this: unknown, req: never, options: StrategyOptions): unknown }

/** A protocol to talk to a provider: the strategy yields tokens, with which the profile is fetched. */
export type Protocol = {
  readonly strategy: Strategy
  /** GET on behalf of the user; rejects unless the response is a 2xx. */
  get(tokens: ProviderTokens, url: string, headers?: Readonly<Record<string, string>>): Promise<string>
  /** The profile, if a library's strategy fetches and parses it. */
  account?(tokens: ProviderTokens): Promise<unknown>
}

/** The original error, unwrapped from those of the libraries. */
export function failureOf(error: unknown): Error {
  const inner: unknown =
    typeof error === 'object' && error !== null && 'oauthError' in error ? error.oauthError : error
  return inner instanceof Error ? inner : new Error('the strategy failed', { cause: inner })
}
