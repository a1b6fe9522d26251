import type { Clock } from './clock.js'
import type { Cost } from './model.js'

/** The cores of a machine. Work waits for a free core, in order. */
export class Cores {
  busyMs = 0
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(
    private readonly clock: Clock,
    readonly count: number,
  ) {
    this.#free = count
  }

  work(ms: number, then: () => void): void {
    const start = () => {
      this.#free -= 1
      this.busyMs += ms
      this.clock.after(ms, () => {
        this.#free += 1
        this.#waiting.shift()?.()
        then()
      })
    }
    if (this.#free > 0) start()
    else this.#waiting.push(start)
  }
}

type StationOptions<T> = {
  clock: Clock
  /** Does the work for a batch, and calls `done` with its duration in ms when the next batch may start. */
  serve: (batch: readonly T[], done: (ms: number) => void) => void
  largest: number
  /** Minimum time between the starts of two batches. */
  gapMs?: number
}

/**
 * One thread or one disk. Takes everything that waits as a batch, and the next batch when that is done. `busyMs` excludes waiting for a
 * core.
 */
export class Station<T> {
  busyMs = 0
  #busy = false
  #notBefore = 0
  #waiting: T[] = []

  constructor(private readonly options: StationOptions<T>) {}

  get waiting(): number {
    return this.#waiting.length
  }

  add(items: readonly T[]): void {
    this.#waiting.push(...items)
    this.#begin()
  }

  #begin(): void {
    const { clock, gapMs = 0 } = this.options
    if (this.#busy || this.#waiting.length === 0) return
    this.#busy = true
    clock.after(Math.max(0, this.#notBefore - clock.now), () => {
      this.#notBefore = clock.now + gapMs
      this.#serve()
    })
  }

  #serve(): void {
    const { serve, largest } = this.options
    serve(this.#waiting.splice(0, largest), (ms) => {
      this.busyMs += ms
      this.#busy = false
      this.#begin()
    })
  }
}

/** In ms. */
export const timeOf = ({ fixed, each }: Cost, count: number) => fixed + each * count
