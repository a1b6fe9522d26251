import { FairQueue } from '@signet/db/fair-queue'

/**
 * A semaphore with a fixed number of permits, of which one key may have `maxPerKey`, by default all. Keys that wait for one take turns.
 */
export class FairSemaphore {
  readonly #waiting = new FairQueue<() => void>()
  readonly #held = new Map<string, number>()

  constructor(
    private free: number,
    private readonly maxPerKey = free,
  ) {}

  get queueLength(): number {
    return this.#waiting.size
  }

  /** Returns the function that releases the permit; calling it twice is harmless. */
  async acquire(key: string): Promise<() => void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(key, () => {
        this.#take(key, 1)
        resolve()
      })
      this.#next()
    })
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#take(key, -1)
      this.#next()
    }
  }

  #next(): void {
    if (this.free > 0) this.#waiting.shift((key) => this.#heldBy(key) < this.maxPerKey)?.()
  }

  /** A negative amount is given back. */
  #take(key: string, amount: number): void {
    const held = this.#heldBy(key) + amount
    if (held > 0) this.#held.set(key, held)
    else this.#held.delete(key)
    this.free -= amount
  }

  #heldBy(key: string): number {
    return this.#held.get(key) ?? 0
  }
}
