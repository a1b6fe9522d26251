import type { Permit } from '../fairness/endpoint-limiter.js'

/**
 * Holds a permit until the connection is free. After a failure it is also held until the result is committed, so that attempts
 * to an endpoint never exceed its limit while its 20th failure is being counted.
 */
export class PermitLease {
  #connectionClosed = Promise.resolve()
  #isReleased = false

  constructor(
    private readonly permit: Permit,
    private readonly onReleased: () => void = () => undefined,
  ) {}

  /** Delays the release until the connection is free. */
  extendUntil(connectionClosed: Promise<void>): void {
    this.#connectionClosed = connectionClosed
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    void this.#connectionClosed.then(() => {
      this.permit.release()
      this.onReleased()
    })
  }
}
