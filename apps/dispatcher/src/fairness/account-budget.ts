import { FairQueue } from '@signet/db/fair-queue'
import { AccountShares, type AccountSharesOptions } from './account-shares.js'

/** What an account holds of a budget. */
export type Holding = {
  readonly resize: (amount: number) => void
  /** Calling it twice is harmless. */
  readonly release: () => void
}

/** Sums of fractions are not exact. */
const NEARLY_NOTHING = 1e-6

/**
 * A resource that accounts share and give back, such as memory, threads or turns. Accounts without room in their shares wait, and get in
 * turn what becomes free. Any room is enough, even for a larger amount. All that an account then holds counts toward its own share; but
 * toward what is used, it counts as no more than one account alone may have, so that others still find room.
 */
export class AccountBudget {
  readonly #shares: AccountShares
  readonly #waiting = new FairQueue<() => void>()
  readonly #amounts = new Map<string, number>()
  /** What one account alone may have, but at least 1. */
  readonly #most: number

  constructor(options: AccountSharesOptions) {
    this.#shares = new AccountShares(options)
    this.#most = Math.max(1, this.#shares.most)
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Resolves once there is room for any of it; `amountOf` is asked then. */
  acquire(accountId: string, amountOf: () => number = () => 1): Promise<Holding> {
    return new Promise((resolve) => {
      this.#waiting.push(accountId, () => resolve(this.#hold(accountId, amountOf())))
      this.#grantNext()
    })
  }

  #grantNext(): void {
    while (!this.#shares.isFull) {
      const grant = this.#waiting.shift((accountId) => this.#shares.mayTakeMore(accountId))
      if (!grant) return
      grant()
    }
  }

  #hold(accountId: string, amount: number): Holding {
    this.#count(accountId, amount)
    let held = amount
    const resize = (wanted: number) => {
      this.#count(accountId, wanted - held)
      held = wanted
      this.#grantNext()
    }
    return { resize, release: () => resize(0) }
  }

  #count(accountId: string, more: number): void {
    const before = this.#amounts.get(accountId) ?? 0
    const amount = before + more
    if (amount > NEARLY_NOTHING) this.#amounts.set(accountId, amount)
    else this.#amounts.delete(accountId)
    this.#shares.add(accountId, Math.min(amount, this.#most) - Math.min(before, this.#most))
  }
}
