import { Batches, isStatementTimeout, type Queryable } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import {
  recordAttempts,
  recordFirstAttempts,
  rowKey,
  type AttemptResult,
  type RecordedAttempt,
} from '../deliveries/attempt-store.js'
import type { AttemptPlan } from '../deliveries/delivery-store.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { UnwrittenEvent } from './unwritten-event.js'

export type RecorderOptions = {
  db: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  /** The same, and retries statements that timed out. */
  retryTimeouts: RetryWhileUnavailable
  onCommit?: (size: number, durationMs: number) => void
  /** Called for a batch of this size that timed out. */
  onTimeout?: (size: number, error: unknown) => void
  /** Called for endpoints that a commit disabled. */
  onDisabled?: (endpointId: EndpointId) => void
}

/** What a delivery without a row is made of, and the event that it belongs to. */
export type WithoutRow = { plan: AttemptPlan; event: UnwrittenEvent }

type Item = { result: AttemptResult; accountId: string; withoutRow?: WithoutRow | undefined }
type FirstItem = Item & { withoutRow: WithoutRow }

const MAX_BATCH = 400
/** How long a result waits for others. Only its own job waits with it. */
const LINGER_MS = 15
/** Results that are recorded alone at once. Each may wait for something locked, with a connection. */
const ALONE = 2
const TIMED_OUT = Symbol('the statement of the batch timed out')

/**
 * Group commit: records the results of many attempts in one statement. Each caller waits for the commit that contains its
 * own result. Returns null for a delivery whose row is gone, or belongs to another process.
 *
 * A batch whose statement times out is divided: its results are recorded alone, beside further batches, and repeated until they
 * are. While an account has such a result, its others take the same way, so that what blocks one account holds up the rest once.
 */
export class ResultRecorder {
  readonly #batches: Batches<Item, RecordedAttempt | null | typeof TIMED_OUT>
  readonly #alone: Batches<Item, RecordedAttempt | null>
  /** How many results of an account are to be recorded alone. */
  readonly #accountsAlone = new Map<string, number>()

  constructor(private readonly options: RecorderOptions) {
    const { retryWhileUnavailable, retryTimeouts } = options
    this.#batches = new Batches<Item, RecordedAttempt | null | typeof TIMED_OUT>({
      send: (items) =>
        this.#commit(items, retryWhileUnavailable).catch((error: unknown) => {
          if (!isStatementTimeout(error)) throw error
          options.onTimeout?.(items.length, error)
          return items.map(() => TIMED_OUT)
        }),
      // After a lost job lock there can be two results for one delivery, also under two ids while it has no row. They go into
      // separate statements, in order.
      keysOf: ({ result }) => [rowKey(result)],
      maxItems: MAX_BATCH,
      lingerMs: LINGER_MS,
      // Two parallel statements would wait for each other's locks on the endpoints they share.
      underWay: 1,
      slowMs: Infinity,
    })
    this.#alone = new Batches({
      send: (items) => this.#commit(items, retryTimeouts),
      keysOf: ({ accountId }) => [accountId],
      maxItems: 1,
      underWay: ALONE,
      slowMs: Infinity,
    })
  }

  /** `withoutRow`: the delivery gets its row with this result. */
  async record(
    result: AttemptResult,
    accountId: string,
    withoutRow?: WithoutRow,
  ): Promise<RecordedAttempt | null> {
    const item = { result, accountId, withoutRow }
    if (!this.#accountsAlone.has(accountId)) {
      const recorded = await this.#batches.add(item)
      if (recorded !== TIMED_OUT) return recorded
    }
    this.#countAlone(accountId, 1)
    return this.#alone.add(item).finally(() => this.#countAlone(accountId, -1))
  }

  #countAlone(accountId: string, change: 1 | -1): void {
    const count = (this.#accountsAlone.get(accountId) ?? 0) + change
    if (count === 0) this.#accountsAlone.delete(accountId)
    else this.#accountsAlone.set(accountId, count)
  }

  async #commit(items: readonly Item[], retry: RetryWhileUnavailable): Promise<(RecordedAttempt | null)[]> {
    const startedAt = performance.now()
    // A row that is being written now would be missed, and the failure of its delivery counted twice.
    const beingWritten = items
      .filter(isWithoutRow)
      .filter(({ withoutRow: { event } }) => event.isBeingWritten)
    await Promise.allSettled(beingWritten.map(({ withoutRow: { event } }) => event.write()))
    const recorded = new Map<string, RecordedAttempt>()
    for (const one of await this.#recordFirst(items.filter(isWithoutRow), retry))
      recorded.set(one.deliveryId, one)
    // Also those whose row was there already: written while they were in flight, or by a commit whose answer got lost.
    const others = items.map(({ result }) => result).filter(({ deliveryId }) => !recorded.has(deliveryId))
    for (const one of await this.#recordOthers(others, retry)) recorded.set(one.deliveryId, one)
    this.options.onCommit?.(items.length, performance.now() - startedAt)
    const disabling = items.filter(({ result }) => recorded.get(result.deliveryId)?.disabledEndpoint)
    for (const id of new Set(disabling.map(({ result }) => result.endpointId))) this.options.onDisabled?.(id)
    return items.map(({ result }) => recorded.get(result.deliveryId) ?? null)
  }

  async #recordFirst(items: readonly FirstItem[], retry: RetryWhileUnavailable): Promise<RecordedAttempt[]> {
    const { db } = this.options
    if (items.length === 0) return []
    const completed = [...countByEvent(items)].filter(([event, count]) => event.isCompletedBy(count))
    const complete = new Set(completed.map(([event]) => event))
    const results = items.map(({ result, withoutRow: { plan } }) => ({
      ...result,
      eventType: plan.eventType,
      createdAt: plan.createdAt,
    }))
    const recorded = await retry(() =>
      recordFirstAttempts(
        db,
        results,
        [...complete].map(({ id }) => id),
      ),
    )
    const written = new Set(recorded.map(({ deliveryId }) => deliveryId))
    const wrote = countByEvent(items.filter(({ result }) => written.has(result.deliveryId)))
    for (const [event, count] of wrote) event.wrote(count, complete.has(event))
    return recorded
  }

  async #recordOthers(
    results: readonly AttemptResult[],
    retry: RetryWhileUnavailable,
  ): Promise<RecordedAttempt[]> {
    const { db } = this.options
    return results.length === 0 ? [] : retry(() => recordAttempts(db, results))
  }
}

const isWithoutRow = (item: Item): item is FirstItem => item.withoutRow?.event.isWritten === false

function countByEvent(items: readonly FirstItem[]): Map<UnwrittenEvent, number> {
  const counts = new Map<UnwrittenEvent, number>()
  for (const { withoutRow } of items) counts.set(withoutRow.event, (counts.get(withoutRow.event) ?? 0) + 1)
  return counts
}
