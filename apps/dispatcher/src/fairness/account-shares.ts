export type AccountSharesOptions = {
  /** How much there is for all accounts together. */
  size: number
  /** How many times what is free an account may have. */
  timesFree: number
}

/** Sums of fractions are not exact. */
const NEARLY_NOTHING = 1e-6

/**
 * Divides among accounts what none of them gives back before it is done. An account may take more while it has less than
 * `timesFree` times what is free: with 3, one alone gets three quarters, and two get three sevenths each. Accounts that take what
 * they can in turn always leave something for one more; after others took theirs one by one, until some of it was given back.
 */
export class AccountShares {
  readonly #held = new Map<string, number>()
  #used = 0

  constructor(private readonly options: AccountSharesOptions) {}

  /** What all accounts have together. */
  get used(): number {
    return this.#used
  }

  hasRoomFor(accountId: string): boolean {
    return this.#heldBy(accountId) + NEARLY_NOTHING < this.options.timesFree * this.#free()
  }

  /** The most that an account may take at once and leave room for others. */
  roomFor(accountId: string): number {
    const { timesFree } = this.options
    return Math.max(0, (timesFree * this.#free() - this.#heldBy(accountId)) / (timesFree + 1))
  }

  /** A negative amount is given back. */
  add(accountId: string, amount: number): void {
    const held = this.#heldBy(accountId) + amount
    if (held > NEARLY_NOTHING) this.#held.set(accountId, held)
    else this.#held.delete(accountId)
    this.#used = this.#held.size === 0 ? 0 : this.#used + amount
  }

  #heldBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0
  }

  #free(): number {
    return this.options.size - this.#used
  }
}
