/** The default schedule. Settings, pages, generated docs and the sentence in the specification use it. */
export const DEFAULT_RETRY_DELAYS_SECONDS: readonly number[] = [60, 300, 900, 900, 900]
const MAX_JITTER = 0.1

export type RetryScheduleOptions = {
  /** Seconds to wait after the 1st, 2nd, … failed attempt. There is one more attempt than there are delays. */
  delaysSeconds?: readonly number[]
  /** Uniform in [0, 1). */
  random?: () => number
}

/** Decides when a failed delivery is retried (apps/webhooks/docs/specification.md#retries). */
export class RetrySchedule {
  readonly #delaysMs: readonly number[]
  readonly #random: () => number

  constructor({
    delaysSeconds = DEFAULT_RETRY_DELAYS_SECONDS,
    random = Math.random,
  }: RetryScheduleOptions = {}) {
    if (!delaysSeconds.every((seconds) => seconds > 0)) throw new RangeError('retry delays must be positive')
    this.#delaysMs = delaysSeconds.map((seconds) => seconds * 1000)
    this.#random = random
  }

  get maxAttempts(): number {
    return this.#delaysMs.length + 1
  }

  /** Milliseconds to wait after this many failed attempts, including jitter; null after the last one. */
  delayAfter(failedAttempts: number): number | null {
    const delayMs = this.#delaysMs[failedAttempts - 1]
    if (delayMs === undefined) return null
    // Jitter only adds time: the documented delay is a minimum.
    return Math.round(delayMs * (1 + MAX_JITTER * this.#random()))
  }
}
