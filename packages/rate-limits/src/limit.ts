/**
 * How much one key may use: `amount` per window, which starts with the first use, or a bucket of `amount` that gains one every
 * `everyMs`. A window refills all at once, a bucket steadily.
 */
export type Limit = { readonly key: string; readonly amount: number } & (
  | { readonly windowMs: number }
  | { readonly everyMs: number }
)

/** `waitMs` is 0 if there was enough, otherwise the time in milliseconds until there may be. Pass `taken` to `putBack`. */
export type Taken = { waitMs: number; taken: readonly Limit[] }

export type Limiter = {
  /** Takes one from each limit, or nothing if any of them is used up: rejected requests do not count. */
  take(all: readonly Limit[]): Promise<Taken>
  /**
   * For attempts that count only if they fail: take beforehand, so that parallel attempts cannot all see the last one, and put back
   * afterwards.
   */
  putBack(taken: readonly Limit[]): Promise<void>
}
