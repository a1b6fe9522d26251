const DEFAULT_DELAYS_SECONDS = [60, 300, 900, 900, 900]
const MAX_JITTER = 0.1

export type RetryScheduleOptions = {
  /** Seconds to wait after the 1st, 2nd, … failed attempt; one more attempt than there are delays. */
  delaysSeconds?: readonly number[]
  /** Uniform in [0, 1). */
  random?: () => number
}

/** When a failed delivery is tried again (contract A24, F.5): after 1, 5, 15, 15, 15 minutes, and then no more. */
export class RetrySchedule {
  readonly #delaysMs: readonly number[]
  readonly #random: () => number

  constructor({ delaysSeconds = DEFAULT_DELAYS_SECONDS, random = Math.random }: RetryScheduleOptions = {}) {
    if (!delaysSeconds.every((seconds) => seconds > 0)) throw new RangeError('retry delays must be positive')
    this.#delaysMs = delaysSeconds.map((seconds) => seconds * 1000)
    this.#random = random
  }

  get maxAttempts(): number {
    return this.#delaysMs.length + 1
  }

  /** Milliseconds to wait after this many failed attempts, jitter included; null when that was the last one. */
  delayAfter(failedAttempts: number): number | null {
    const delayMs = this.#delaysMs[failedAttempts - 1]
    if (delayMs === undefined) return null
    // Only ever later: receivers are promised at least the documented pause, and a crowd of retries spreads out.
    return Math.round(delayMs * (1 + MAX_JITTER * this.#random()))
  }
}
