/**
 * How much one key may use: `amount` per window, which starts with the first use, or a bucket of `amount` that gains one every
 * `everyMs`. A window refills all at once, a bucket steadily.
 */
export type Limit = { readonly key: string; readonly amount: number } & (
  | { readonly windowMs: number }
  | { readonly everyMs: number }
)

/** `waitMs` is 0 when there was enough, otherwise the time until there may be. `taken` is for `putBack`. */
export type Taken = { waitMs: number; taken: readonly Limit[] }

export type Limiter = {
  /** Takes one from each, or nothing when any of them is used up: what is refused does not count. */
  take(all: readonly Limit[]): Promise<Taken>
  /** For attempts that count only when they fail: taken beforehand, so that parallel attempts cannot all see the last one. */
  putBack(taken: readonly Limit[]): Promise<void>
}
