import { type Queryable } from '@signet/db'
import { recordAttempts, type AttemptResult, type RecordedAttempt } from '@signet/webhook-core'
import { Batcher } from '../batching/batcher.js'

export type RecorderOptions = {
  db: Queryable
  /** Runs a statement until the database is there for it. */
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  onCommit?: (size: number, durationMs: number) => void
}

const MAX_BATCH = 400
/** Below the 20 ms that a result may wait for others (contract F.1); nobody but the job itself waits for it. */
const LINGER_MS = 15
/** Two would wait for each other's locks on the endpoints they have in common. */
const PARALLEL = 1

/**
 * Group commit: the results of many attempts in one statement, each caller waiting for the commit with its own result. The
 * answer is null for a delivery whose row is gone.
 */
export class ResultRecorder {
  private readonly batcher: Batcher<AttemptResult, RecordedAttempt | null>

  constructor(private readonly options: RecorderOptions) {
    this.batcher = new Batcher({
      run: (results) => this.commit(results),
      maxItems: () => MAX_BATCH,
      lingerMs: LINGER_MS,
      parallel: PARALLEL,
    })
  }

  record(result: AttemptResult): Promise<RecordedAttempt | null> {
    return this.batcher.submit(result)
  }

  private async commit(results: readonly AttemptResult[]): Promise<(RecordedAttempt | null)[]> {
    const answers: (RecordedAttempt | null)[] = results.map(() => null)
    for (const round of roundsOf(results)) {
      const recorded = await this.commitRound(round.map(({ result }) => result))
      const byDelivery = new Map(recorded.map((answer) => [answer.deliveryId, answer]))
      for (const { result, index } of round) answers[index] = byDelivery.get(result.deliveryId) ?? null
    }
    return answers
  }

  private async commitRound(results: readonly AttemptResult[]): Promise<RecordedAttempt[]> {
    const startedAt = performance.now()
    const recorded = await this.options.patiently(() => recordAttempts(this.options.db, results))
    this.options.onCommit?.(results.length, performance.now() - startedAt)
    return recorded
  }
}

type Numbered = { result: AttemptResult; index: number }

/** Two results of one delivery, possible after a lost job lock, go into different statements, in their order. */
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
