export type DeferralPacerOptions = {
  /** The longest time that a job is deferred for, in milliseconds. */
  maxMs: number
  /** The same for a job that comes back and finds no room again. */
  maxRetryMs: number
}

/** How many deferred jobs come back for each one that finds room. */
const RETRIES_PER_TURN = 4

/**
 * Decides when deferred jobs come back: each later than the one before, at the pace at which they find room. Times are milliseconds of
 * a steady clock.
 */
export class DeferralPacer {
  #lastTurnAt = 0
  #lastRetryAt = 0

  constructor(private readonly options: DeferralPacerOptions) {}

  /** Whether jobs that were deferred have yet to come back. */
  isWaiting(now: number): boolean {
    return this.#lastTurnAt > now || this.#lastRetryAt > now
  }

  /** Milliseconds to defer a job for that has not been deferred before. */
  turnMs(now: number, spacingMs: number): number {
    this.#lastTurnAt = Math.min(Math.max(this.#lastTurnAt, now) + spacingMs, now + this.options.maxMs)
    return this.#lastTurnAt - now
  }

  /**
   * For a job that came back and found no room. It returns soon, because it would starve if it queued behind newcomers every time.
   * Such jobs queue behind one another, so a long backlog returns no more often than a short one.
   */
  retryMs(now: number, spacingMs: number, soonMs: number): number {
    const nextAt = Math.max(this.#lastRetryAt, now) + spacingMs / RETRIES_PER_TURN
    this.#lastRetryAt = Math.min(nextAt, now + this.options.maxRetryMs)
    return Math.max(soonMs, this.#lastRetryAt - now)
  }
}
