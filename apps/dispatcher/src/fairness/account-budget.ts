import { FairQueue } from '@signet/db/fair-queue'
import { AccountShares, type AccountSharesOptions } from './account-shares.js'

/** `atLeast`: counts at least this much, even if the account has less room. */
export type Claim = { amount: number; atLeast: number }

/** What an account holds of a budget. */
export type Holding = {
  readonly amount: number
  readonly resize: (amount: number) => void
  /** Calling it twice is harmless. */
  readonly release: () => void
}

const ONE: Claim = { amount: 1, atLeast: 1 }

/**
 * Something that accounts share and give back, such as memory, threads or turns. Those that have no room in their shares wait, and
 * accounts get what becomes free in turn.
 */
export class AccountBudget {
  readonly #shares: AccountShares
  readonly #waiting = new FairQueue<() => void>()

  constructor(options: AccountSharesOptions) {
    this.#shares = new AccountShares(options)
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Resolves once there is room for any of it; `claim` is asked then. */
  acquire(accountId: string, claim: () => Claim = () => ONE): Promise<Holding> {
    return new Promise((resolve) => {
      this.#waiting.push(accountId, () => resolve(this.#hold(accountId, claim())))
      this.#grantNext()
    })
  }

  #grantNext(): void {
    for (;;) {
      const grant = this.#waiting.shift((accountId) => this.#shares.hasRoomFor(accountId))
      if (!grant) return
      grant()
    }
  }

  #hold(accountId: string, { amount, atLeast }: Claim): Holding {
    let held = 0
    const hold = (wanted: number, least = 0) => {
      // It may be larger than the whole budget. Counted in full, it would keep all others out.
      const next = Math.min(wanted, Math.max(least, held + this.#shares.roomFor(accountId)))
      this.#shares.add(accountId, next - held)
      held = next
    }
    hold(amount, atLeast)
    return {
      get amount() {
        return held
      },
      resize: (wanted) => {
        hold(wanted)
        this.#grantNext()
      },
      release: () => {
        hold(0)
        this.#grantNext()
      },
    }
  }
}
