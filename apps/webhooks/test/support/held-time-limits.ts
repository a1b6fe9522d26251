/** Time limits that pass only when a test says so, however slow the machine is. */
export class HeldTimeLimits {
  readonly #pending = new Map<AbortController, number>()

  readonly start = (ms: number): AbortSignal => {
    const limit = new AbortController()
    this.#pending.set(limit, ms)
    return limit.signal
  }

  /** Ends everything that is within a limit of up to `ms`. */
  pass(ms: number): void {
    for (const [limit, lengthMs] of this.#pending) {
      if (lengthMs > ms) continue
      this.#pending.delete(limit)
      limit.abort(new DOMException('The time limit has passed', 'TimeoutError'))
    }
  }
}
