import { FairQueue } from '@signet/db/fair-queue'

/** A semaphore with a fixed number of permits. Keys that wait for one take turns. */
export class FairSemaphore {
  readonly #waiting = new FairQueue<() => void>()

  constructor(private free: number) {}

  get queueLength(): number {
    return this.#waiting.size
  }

  /** Returns the function that releases the permit; calling it twice is harmless. */
  async acquire(key: string): Promise<() => void> {
    if (this.free > 0) this.free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(key, resolve))
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const next = this.#waiting.shift()
      if (next) next()
      else this.free += 1
    }
  }
}
