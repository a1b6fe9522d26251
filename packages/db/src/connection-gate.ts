export type GateOptions = {
  /** Holders that count at a time. */
  width: number
  /** Past this time a holder does not count any more: it waits for something else than its turn. */
  slowMs: number
  /** A waiter that is not let in within this time is refused; 0 is no limit. */
  timeoutMs: number
}

type Holder = { since: number }
type Waiter = { since: number; admit: (holder: Holder) => void; refuse: (error: Error) => void }

/**
 * Lets `width` callers in at a time, and others beside those that stay long. A crowd of short statements is done soonest by
 * a few connections; one that waits for a lock, or for its caller, should keep nobody waiting. At most one more is let in
 * per `slowMs`, so that a server that is slow because of too many connections does not get more of them at once.
 */
export class ConnectionGate {
  readonly #counted = new Set<Holder>()
  readonly #waiting = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #widenedAt = -Infinity

  constructor(private readonly options: GateOptions) {}

  /** A promise only where there is something to wait for. The function that it gives must be called at the end. */
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
      // In the words of the pool, which others know for an unavailable database.
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
