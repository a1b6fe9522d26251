/**
 * For whom a password is hashed. Networks take turns, and strangers wait in another queue than known people (decision 0031). A request
 * does not decide this itself: `src/hash-callers` does, from what the request has proven.
 */
export type HashCaller = {
  readonly client: { readonly key: string }
  readonly isKnown: boolean
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}
