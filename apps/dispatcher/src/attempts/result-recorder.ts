import type { Queryable } from '@signet/db'
import { recordAttempts, type AttemptResult, type RecordedAttempt } from '../deliveries/attempt-store.js'
import { Batcher } from '../batching/batcher.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'

export type RecorderOptions = {
  db: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  onCommit?: (size: number, durationMs: number) => void
}

const MAX_BATCH = 400
/** A result may wait up to 20 ms for others. Only its own job waits for it. */
const LINGER_MS = 15
/** Two parallel statements would wait for each other's locks on the endpoints they share. */
const PARALLEL = 1

/**
 * Group commit: records the results of many attempts in one statement. Each caller waits for the commit that contains its
 * own result. Returns null for a delivery whose row is gone.
 */
export class ResultRecorder {
  readonly #batcher: Batcher<AttemptResult, RecordedAttempt | null>

  constructor(private readonly options: RecorderOptions) {
    this.#batcher = new Batcher({
      run: (results) => this.#commit(results),
      maxItems: () => MAX_BATCH,
      lingerMs: LINGER_MS,
      parallel: PARALLEL,
    })
  }

  record(result: AttemptResult): Promise<RecordedAttempt | null> {
    return this.#batcher.submit(result)
  }

  async #commit(results: readonly AttemptResult[]): Promise<(RecordedAttempt | null)[]> {
    const answers: (RecordedAttempt | null)[] = results.map(() => null)
    for (const round of roundsOf(results)) {
      const recorded = await this.#commitRound(round.map(({ result }) => result))
      const byDelivery = new Map(recorded.map((answer) => [answer.deliveryId, answer]))
      for (const { result, index } of round) answers[index] = byDelivery.get(result.deliveryId) ?? null
    }
    return answers
  }

  async #commitRound(results: readonly AttemptResult[]): Promise<RecordedAttempt[]> {
    const startedAt = performance.now()
    const recorded = await this.options.retryWhileUnavailable(() => recordAttempts(this.options.db, results))
    this.options.onCommit?.(results.length, performance.now() - startedAt)
    return recorded
  }
}

type Numbered = { result: AttemptResult; index: number }

/** After a lost job lock there can be two results for one delivery. They go into separate statements, in order. */
function roundsOf(results: readonly AttemptResult[]): Numbered[][] {
  const rounds: { taken: Set<string>; items: Numbered[] }[] = []
  results.forEach((result, index) => {
    let round = rounds.find(({ taken }) => !taken.has(result.deliveryId))
    if (!round) rounds.push((round = { taken: new Set(), items: [] }))
    round.taken.add(result.deliveryId)
    round.items.push({ result, index })
  })
  return rounds.map(({ items }) => items)
}
