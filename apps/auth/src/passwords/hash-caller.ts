/**
 * The client for whom a password is hashed. Networks take turns, and strangers wait in a separate queue from known people (decision 0031).
 * Requests do not decide who is known: `src/hash-callers` does, based on what the request has proven.
 */
export type HashCaller = {
  readonly client: { readonly key: string }
  readonly isKnown: boolean
  /** Aborted when nobody waits for the answer anymore. */
  readonly signal?: AbortSignal
}
