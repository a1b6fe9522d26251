import { Batches, type Queryable } from '@signet/db'
import { recordAttempts, type AttemptResult, type RecordedAttempt } from '../deliveries/attempt-store.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'

export type RecorderOptions = {
  db: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  onCommit?: (size: number, durationMs: number) => void
}

const MAX_BATCH = 400
/** How long a result waits for others. Only its own job waits with it. */
const LINGER_MS = 15

/**
 * Group commit: records the results of many attempts in one statement. Each caller waits for the commit that contains its
 * own result. Returns null for a delivery whose row is gone.
 */
export class ResultRecorder {
  readonly #batches: Batches<AttemptResult, RecordedAttempt | null>

  constructor(private readonly options: RecorderOptions) {
    this.#batches = new Batches({
      send: (results) => this.#commit(results),
      // After a lost job lock there can be two results for one delivery. They go into separate statements, in order.
      keysOf: ({ deliveryId }) => [deliveryId],
      maxItems: MAX_BATCH,
      lingerMs: LINGER_MS,
      // Two parallel statements would wait for each other's locks on the endpoints they share.
      underWay: 1,
      slowMs: Infinity,
    })
  }

  record(result: AttemptResult): Promise<RecordedAttempt | null> {
    return this.#batches.add(result)
  }

  async #commit(results: readonly AttemptResult[]): Promise<(RecordedAttempt | null)[]> {
    const { db, retryWhileUnavailable, onCommit } = this.options
    const startedAt = performance.now()
    const recorded = await retryWhileUnavailable(() => recordAttempts(db, results))
    onCommit?.(results.length, performance.now() - startedAt)
    const byDelivery = new Map(recorded.map((answer) => [answer.deliveryId, answer]))
    return results.map(({ deliveryId }) => byDelivery.get(deliveryId) ?? null)
  }
}
