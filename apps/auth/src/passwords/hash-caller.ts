/**
 * Whom a hash is for. Waiting jobs take turns by the network of their client, and strangers wait apart from all who are known
 * (decision 0031). No request is one by itself: `src/hash-callers` makes one out of what a request has proven.
 */
export type HashCaller = {
  readonly client: { readonly key: string }
  readonly isKnown: boolean
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}
