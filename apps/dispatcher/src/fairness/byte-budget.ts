import { FairQueue } from '@signet/db/fair-queue'
import { AccountShares } from './account-shares.js'

/**
 * Memory for large things while they are in use. Accounts take turns, and one alone has half of it, or one thing of any size. Others
 * wait until there is room.
 */
export class ByteBudget {
  readonly #shares: AccountShares
  readonly #waiting = new FairQueue<() => void>()

  constructor(bytes: number) {
    this.#shares = new AccountShares({ size: bytes, timesFree: 1 })
  }

  /** Resolves with the function that gives the memory back, once there is room. */
  acquire(accountId: string, bytes: number): Promise<() => void> {
    return new Promise((resolve) => {
      this.#waiting.push(accountId, () => resolve(this.#take(accountId, bytes)))
      this.#next()
    })
  }

  #take(accountId: string, bytes: number): () => void {
    // It may be larger than the whole budget. Counted in full, it would keep all others out.
    let taken = Math.min(bytes, Math.max(1, this.#shares.roomFor(accountId)))
    this.#shares.add(accountId, taken)
    return () => {
      this.#shares.add(accountId, -taken)
      taken = 0
      this.#next()
    }
  }

  #next(): void {
    for (;;) {
      const start = this.#waiting.shift((accountId) => this.#shares.hasRoomFor(accountId))
      if (!start) return
      start()
    }
  }
}
