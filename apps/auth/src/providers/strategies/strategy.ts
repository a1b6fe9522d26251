import type { ProviderTokens } from '../model/provider.js'

/** The request as strategies see it: only the parts that they may read, and the flow it belongs to. */
export type StrategyRequest = {
  query: Readonly<Record<string, string>>
  body: Readonly<Record<string, string>>
  flow: StrategyFlow
}

/** The row of a flow. It is stored while the user is at the provider, and found again by the state that comes back. */
export type StrategyFlow = {
  /** The id is also the state. */
  readonly id: string
  /** Data that the strategy stores with the flow, if any. */
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

/** The part of a Passport strategy that we use. */
export type Strategy = { authenticate(this: unknown, req: never, options: StrategyOptions): unknown }

/** A protocol to talk to a provider. The strategy returns tokens, which are used to fetch the profile. */
export type Protocol = {
  readonly strategy: Strategy
  /** GET on behalf of the user; rejects unless the response is a 2xx. */
  get(tokens: ProviderTokens, url: string, headers?: Readonly<Record<string, string>>): Promise<string>
  /** The profile, if a library's strategy fetches and parses it. */
  account?(tokens: ProviderTokens): Promise<unknown>
}

/** Unwraps the original error from those of the libraries. */
export function failureOf(error: unknown): Error {
  const inner: unknown =
    typeof error === 'object' && error !== null && 'oauthError' in error ? error.oauthError : error
  return inner instanceof Error ? inner : new Error('the strategy failed', { cause: inner })
}
