export type AccountSharesOptions = {
  /** How much there is for all accounts together. */
  size: number
  /** How many times what is free an account may have. */
  timesFree: number
}

/** Sums of fractions are not exact. */
const NEARLY_NOTHING = 1e-6
/** An account may take from the last tenth only while it has less than a quarter of what is free. */
const LAST_PART = 0.1
const TIMES_FREE_OF_LAST_PART = 0.25

/**
 * Divides among accounts a resource that they hold until their work is done. An account may take more while it has less than
 * `timesFree` times what is free: with 3, one alone gets three quarters, and two get three sevenths each. The last tenth is for
 * accounts that have little or nothing, so that many who take what they can leave something for others as well (decision 0161).
 */
export class AccountShares {
  readonly #held = new Map<string, number>()
  #used = 0

  constructor(private readonly options: AccountSharesOptions) {}

  /** What all accounts have together. */
  get used(): number {
    return this.#used
  }

  /** What one account alone may have. */
  get most(): number {
    const { size, timesFree } = this.options
    return (size * timesFree) / (timesFree + 1)
  }

  /** Nothing is left, for any account. */
  get isFull(): boolean {
    return this.#free() <= NEARLY_NOTHING
  }

  mayTakeMore(accountId: string): boolean {
    const [held, free] = [this.#heldBy(accountId), this.#free()]
    if (held === 0) return !this.isFull
    return held + NEARLY_NOTHING < this.#timesFree() * free
  }

  /** The most that an account may take in one step and still leave room for others. */
  availableTo(accountId: string): number {
    const timesFree = this.#timesFree()
    return Math.max(0, (timesFree * this.#free() - this.#heldBy(accountId)) / (timesFree + 1))
  }

  /** A negative amount gives some back. */
  add(accountId: string, amount: number): void {
    const held = this.#heldBy(accountId) + amount
    if (held > NEARLY_NOTHING) this.#held.set(accountId, held)
    else this.#held.delete(accountId)
    this.#used = this.#held.size === 0 ? 0 : this.#used + amount
  }

  #heldBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0
  }

  #timesFree(): number {
    const { size, timesFree } = this.options
    return this.#free() > size * LAST_PART ? timesFree : Math.min(timesFree, TIMES_FREE_OF_LAST_PART)
  }

  #free(): number {
    return this.options.size - this.#used
  }
}
