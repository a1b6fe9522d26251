import { type ProviderTokens } from '../model/provider.js'

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

/** A way to speak to a provider: who signs in comes from the strategy, about whom is asked with what it brought. */
export type Protocol = {
  readonly strategy: Strategy
  /** GET in the name of the user; rejects unless the answer is a 2xx. */
  get(tokens: ProviderTokens, url: string, headers?: Readonly<Record<string, string>>): Promise<string>
  /** The profile, where the strategy of a library fetches and parses it. */
  account?(tokens: ProviderTokens): Promise<unknown>
}

/** What went wrong, out of the wrapping that the libraries put around it. */
export function failureOf(error: unknown): Error {
  const inner: unknown =
    typeof error === 'object' && error !== null && 'oauthError' in error ? error.oauthError : error
  return inner instanceof Error ? inner : new Error('the strategy failed', { cause: inner })
}
