import { Batches, type Queryable } from '@signet/db'
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
  onCommit?: (size: number, durationMs: number) => void
  /** Called for endpoints that a commit disabled. */
  onDisabled?: (endpointId: EndpointId) => void
}

/** What a delivery without a row is made of, and the event that it belongs to. */
export type WithoutRow = { plan: AttemptPlan; event: UnwrittenEvent }

type Item = { result: AttemptResult; withoutRow?: WithoutRow | undefined }
type FirstItem = Item & { withoutRow: WithoutRow }

const MAX_BATCH = 400
/** How long a result waits for others. Only its own job waits with it. */
const LINGER_MS = 15

/**
 * Group commit: records the results of many attempts in one statement. Each caller waits for the commit that contains its
 * own result. Returns null for a delivery whose row is gone, or belongs to another process.
 */
export class ResultRecorder {
  readonly #batches: Batches<Item, RecordedAttempt | null>

  constructor(private readonly options: RecorderOptions) {
    this.#batches = new Batches({
      send: (items) => this.#commit(items),
      // After a lost job lock there can be two results for one delivery, also under two ids while it has no row. They go into
      // separate statements, in order.
      keysOf: ({ result }) => [rowKey(result)],
      maxItems: MAX_BATCH,
      lingerMs: LINGER_MS,
      // Two parallel statements would wait for each other's locks on the endpoints they share.
      underWay: 1,
      slowMs: Infinity,
    })
  }

  /** `withoutRow`: the delivery gets its row with this result. */
  record(result: AttemptResult, withoutRow?: WithoutRow): Promise<RecordedAttempt | null> {
    return this.#batches.add({ result, withoutRow })
  }

  async #commit(items: readonly Item[]): Promise<(RecordedAttempt | null)[]> {
    const startedAt = performance.now()
    // A row that is being written now would be missed, and the failure of its delivery counted twice.
    const beingWritten = items
      .filter(isWithoutRow)
      .filter(({ withoutRow: { event } }) => event.isBeingWritten)
    await Promise.allSettled(beingWritten.map(({ withoutRow: { event } }) => event.write()))
    const recorded = new Map<string, RecordedAttempt>()
    for (const one of await this.#recordFirst(items.filter(isWithoutRow))) recorded.set(one.deliveryId, one)
    // Also those whose row was there already: written while they were in flight, or by a commit whose answer got lost.
    const others = items.map(({ result }) => result).filter(({ deliveryId }) => !recorded.has(deliveryId))
    for (const one of await this.#recordOthers(others)) recorded.set(one.deliveryId, one)
    this.options.onCommit?.(items.length, performance.now() - startedAt)
    const disabling = items.filter(({ result }) => recorded.get(result.deliveryId)?.disabledEndpoint)
    for (const id of new Set(disabling.map(({ result }) => result.endpointId))) this.options.onDisabled?.(id)
    return items.map(({ result }) => recorded.get(result.deliveryId) ?? null)
  }

  async #recordFirst(items: readonly FirstItem[]): Promise<RecordedAttempt[]> {
    const { db, retryWhileUnavailable } = this.options
    if (items.length === 0) return []
    const completed = [...countByEvent(items)].filter(([event, count]) => event.isCompletedBy(count))
    const complete = new Set(completed.map(([event]) => event))
    const results = items.map(({ result, withoutRow: { plan } }) => ({
      ...result,
      eventType: plan.eventType,
      createdAt: plan.createdAt,
    }))
    const recorded = await retryWhileUnavailable(() =>
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

  async #recordOthers(results: readonly AttemptResult[]): Promise<RecordedAttempt[]> {
    const { db, retryWhileUnavailable } = this.options
    return results.length === 0 ? [] : retryWhileUnavailable(() => recordAttempts(db, results))
  }
}

const isWithoutRow = (item: Item): item is FirstItem => item.withoutRow?.event.isWritten === false

function countByEvent(items: readonly FirstItem[]): Map<UnwrittenEvent, number> {
  const counts = new Map<UnwrittenEvent, number>()
  for (const { withoutRow } of items) counts.set(withoutRow.event, (counts.get(withoutRow.event) ?? 0) + 1)
  return counts
}
