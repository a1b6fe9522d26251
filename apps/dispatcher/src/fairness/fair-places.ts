import { FairQueue } from '@signet/db'

/** A fixed number of places. Keys that wait for one take turns. */
export class FairPlaces {
  readonly #waiting = new FairQueue<() => void>()

  constructor(private free: number) {}

  get queueLength(): number {
    return this.#waiting.size
  }

  /** Returns the function that frees the place; calling it twice is harmless. */
  async take(key: string): Promise<() => void> {
    if (this.free > 0) this.free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(key, resolve))
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const next = this.#waiting.shift()
      if (next) next()
      else this.free += 1
    }
  }
}
