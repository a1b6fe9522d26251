export type GateOptions = {
  /** How many holders count at a time. */
  width: number
  /** A holder no longer counts after this time, because it is waiting for something else, such as a lock. */
  slowMs: number
  /** A waiter that is not admitted within this time is rejected; 0 means no limit. */
  timeoutMs: number
}

type Holder = { since: number }
type Waiter = { since: number; admit: (holder: Holder) => void; refuse: (error: Error) => void }

/**
 * Admits `width` callers at a time, plus one for each that takes long. Many short statements finish soonest on a few connections, but a
 * statement that waits for a lock or for its caller should not delay others. At most one extra caller is admitted per `slowMs`, so that
 * a server that is slow because of too many connections does not get many more at the same time.
 */
export class ConnectionGate {
  readonly #counted = new Set<Holder>()
  readonly #waiting = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #widenedAt = -Infinity

  constructor(private readonly options: GateOptions) {}

  /** Returns a promise only if the caller must wait. Call the resulting function when done. */
  enter(): (() => void) | Promise<() => void> {
    if (this.#waiting.size === 0 && this.#counted.size < this.options.width) return this.#leave(this.#admit())
    return new Promise<Holder>((admit, refuse) => {
      this.#waiting.add({ since: performance.now(), admit, refuse })
      this.#arm()
    }).then((holder) => this.#leave(holder))
  }

  #admit(): Holder {
    const holder = { since: performance.now() }
    this.#counted.add(holder)
    return holder
  }

  #leave(holder: Holder): () => void {
    return () => {
      this.#counted.delete(holder)
      this.#pump()
    }
  }

  #pump(): void {
    for (const waiter of this.#waiting) {
      if (this.#counted.size >= this.options.width) break
      this.#waiting.delete(waiter)
      waiter.admit(this.#admit())
    }
    if (this.#waiting.size === 0) this.#disarm()
  }

  #arm(): void {
    if (this.#timer) return
    const { slowMs, timeoutMs } = this.options
    const [oldest] = this.#counted
    const [first] = this.#waiting
    const slowAt = Math.max((oldest?.since ?? Infinity) + slowMs, this.#widenedAt + slowMs)
    const timeoutAt = timeoutMs === 0 ? Infinity : (first?.since ?? Infinity) + timeoutMs
    const wait = Math.min(slowAt, timeoutAt) - performance.now()
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, Math.ceil(wait)))
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    this.#timer = undefined
    const now = performance.now()
    const { slowMs, timeoutMs } = this.options
    for (const waiter of this.#waiting) {
      if (timeoutMs === 0 || now - waiter.since < timeoutMs) break
      this.#waiting.delete(waiter)
      // The same message as the pool's, by which `isUnavailable` recognizes it.
      waiter.refuse(new Error('timeout exceeded when trying to connect'))
    }
    const [oldest] = this.#counted
    if (oldest && now - oldest.since >= slowMs && now - this.#widenedAt >= slowMs) {
      this.#counted.delete(oldest)
      this.#widenedAt = now
    }
    this.#pump()
    if (this.#waiting.size > 0) this.#arm()
  }
}
