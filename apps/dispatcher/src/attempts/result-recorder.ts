import { Batches, isLockTimeout, isStatementTimeout, type Queryable } from '@signet/db'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'
import {
  recordAttempts,
  recordFirstAttempts,
  rowKey,
  type AttemptResult,
  type RecordedAttempt,
} from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { countRepeatedAttempt, findWrittenIds } from '../deliveries/repeated-attempt-store.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import { AccountBudget } from '../fairness/account-budget.js'
import type { UnwrittenEvent } from './unwritten-event.js'

export type RecorderOptions = {
  /** Cancels statements that wait for a lock after a short time. */
  db: Queryable
  /** The same for the statements of single accounts. Two connections are enough. */
  dbApart: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  /** Retries work after a pause if a statement timed out. */
  retryTimeouts: RetryWhileUnavailable
  onCommit?: (size: number, durationMs: number) => void
  /** Called for a batch of this size that timed out. */
  onTimeout?: (size: number, error: unknown) => void
  /** Called for endpoints that a commit disabled. */
  onDisabled?: (endpointId: EndpointId) => void
}

/** The snapshot and the event of a delivery that has no row yet. */
export type WithoutRow = { snapshot: DeliverySnapshot; event: UnwrittenEvent }

type Item = { result: AttemptResult; accountId: string; withoutRow?: WithoutRow | undefined }
type FirstItem = Item & { withoutRow: WithoutRow }

type Recorded = RecordedAttempt | null
type Answer = Recorded | typeof BEING_WRITTEN

const MAX_BATCH = 400
/** How long a result waits for others. Only its own job waits with it. */
const LINGER_MS = 15
const batchOptions = {
  // After a lost job lock there can be two results for one delivery, even under two ids while it has no row. They go into separate
  // statements, in order.
  keysOf: ({ result }: Item) => [rowKey(result)],
  maxItems: MAX_BATCH,
  lingerMs: LINGER_MS,
  // Two parallel statements would wait for each other's locks on the endpoints they share.
  underWay: 1,
  slowMs: Infinity,
}

/** Hides the database error, so that code which retries database errors does not retry this one. */
class TimedOut extends Error {
  constructor(override readonly cause: unknown) {
    super('the statement timed out')
  }
}
const ONE_AT_A_TIME = { size: 1, timesFree: 1 }
const APART = Symbol('to be recorded with others of its account only')
const BEING_WRITTEN = Symbol('to be recorded once its row is written')

/**
 * Group commit: records the results of many attempts in one statement. Each caller waits for the commit that contains its own result.
 * Returns null for a delivery whose row is gone, or belongs to another process, which continues the delivery.
 *
 * A batch whose statement times out, because something is locked, is divided: each of its accounts gets a separate statement. Until one
 * of these succeeds, the account's results stay out of the shared batches, so that a blocked account delays the others only once.
 * Accounts take turns, and an account that times out again moves to a second line for blocked accounts. So blocked accounts, few or
 * many, delay the others of their batch only until they are found.
 */
export class ResultRecorder {
  readonly #shared: Batches<Item, Answer | typeof APART>
  /** The batches of accounts that have separate statements. */
  readonly #apart = new Map<string, Batches<Item, Answer | TimedOut>>()
  /** Accounts whose separate statement timed out. */
  readonly #blocked = new Set<string>()
  readonly #turns = new AccountBudget(ONE_AT_A_TIME)
  readonly #turnsOfBlocked = new AccountBudget(ONE_AT_A_TIME)

  constructor(private readonly options: RecorderOptions) {
    this.#shared = new Batches({ ...batchOptions, send: (items) => this.#sendShared(items) })
  }

  /** `withoutRow`: the delivery gets its row with this result. */
  async record(
    result: AttemptResult,
    accountId: string,
    withoutRow?: WithoutRow,
  ): Promise<RecordedAttempt | null> {
    const item = { result, accountId, withoutRow }
    return this.options.retryTimeouts(async () => {
      for (;;) {
        // A row that is being written would not be visible yet. It may be locked for long, so no batch waits for it.
        if (isBeingWritten(item)) await withoutRow?.event.write().catch(() => undefined)
        const recorded = await this.#recordOnce(item)
        if (recorded instanceof TimedOut) throw recorded.cause
        if (recorded !== BEING_WRITTEN) return recorded
      }
    })
  }

  async #recordOnce(item: Item): Promise<Answer | TimedOut> {
    if (!this.#apart.has(item.accountId)) {
      const recorded = await this.#shared.add(item)
      if (recorded !== APART) return recorded
    }
    return this.#batchesOf(item.accountId).add(item)
  }

  async #sendShared(items: readonly Item[]): Promise<(Answer | typeof APART)[]> {
    // Some results may have arrived before the statement of their account timed out. They would make this batch time out, too.
    const shared = items.filter(({ accountId }) => !this.#apart.has(accountId))
    const recorded = await this.#commit(shared, this.options.db)
    if (!(recorded instanceof TimedOut))
      return items.map((item) => (recorded.has(item) ? (recorded.get(item) ?? null) : APART))
    for (const { accountId } of shared) this.#batchesOf(accountId)
    return items.map(() => APART)
  }

  #batchesOf(accountId: string): Batches<Item, Answer | TimedOut> {
    const known = this.#apart.get(accountId)
    if (known) return known
    const batches = new Batches<Item, Answer | TimedOut>({
      ...batchOptions,
      send: (items) => this.#sendApart(items, accountId),
    })
    this.#apart.set(accountId, batches)
    return batches
  }

  async #sendApart(items: readonly Item[], accountId: string): Promise<(Answer | TimedOut)[]> {
    const turns = this.#blocked.has(accountId) ? this.#turnsOfBlocked : this.#turns
    const { release: endTurn } = await turns.acquire(accountId)
    let recorded: Map<Item, Answer> | TimedOut = new Map()
    try {
      recorded = await this.#commit(items, this.options.dbApart)
    } finally {
      endTurn()
      if (recorded instanceof TimedOut) {
        this.#blocked.add(accountId)
        // An earlier statement of the account may have returned it to the shared batches.
        this.#batchesOf(accountId)
      } else if (!wereAllBeingWritten(recorded)) {
        this.#blocked.delete(accountId)
        this.#apart.delete(accountId)
      }
    }
    const answers = recorded
    return items.map((item) => (answers instanceof TimedOut ? answers : (answers.get(item) ?? null)))
  }

  async #commit(items: readonly Item[], db: Queryable): Promise<Map<Item, Answer> | TimedOut> {
    const startedAt = performance.now()
    const ready = items.filter((item) => !isBeingWritten(item))
    const answers = new Map<Item, Answer>(items.map((item) => [item, BEING_WRITTEN]))
    if (ready.length === 0) return answers
    try {
      for (const [item, recorded] of await this.#record(ready, db)) answers.set(item, recorded)
      this.options.onCommit?.(ready.length, performance.now() - startedAt)
      return answers
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error
      this.options.onTimeout?.(ready.length, error.cause)
      return error
    }
  }

  async #record(items: readonly Item[], db: Queryable): Promise<Map<Item, Recorded>> {
    const recorded = new Map<string, RecordedAttempt>()
    const first = items.filter(isWithoutRow)
    const recordingFirst = this.#recordFirst(first, db)
    for (const { withoutRow } of first) withoutRow.event.recordedBy(recordingFirst)
    for (const one of await recordingFirst) recorded.set(one.deliveryId, one)
    // Includes deliveries whose row already existed: it was written while they were in flight, or by a commit whose response got
    // lost.
    const others = items.map(({ result }) => result).filter(({ deliveryId }) => !recorded.has(deliveryId))
    for (const one of await this.#recordOthers(others, db)) recorded.set(one.deliveryId, one)
    this.#disable(
      items.map(({ result }) => result),
      [...recorded.values()],
    )
    const without = items.filter(({ withoutRow, result }) => withoutRow && !recorded.has(result.deliveryId))
    await this.#recordInRowsOfOthers(without, db)
    return new Map(items.map((item) => [item, recorded.get(item.result.deliveryId) ?? null]))
  }

  async #recordFirst(items: readonly FirstItem[], db: Queryable): Promise<RecordedAttempt[]> {
    if (items.length === 0) return []
    const completed = [...idsByEvent(items)].filter(([event, ids]) => event.isCompletedBy(ids))
    const complete = new Set(completed.map(([event]) => event))
    const results = items.map(({ result, withoutRow: { snapshot } }) => ({
      ...result,
      eventType: snapshot.eventType,
      createdAt: snapshot.createdAt,
    }))
    const recorded = await this.#retry(() =>
      recordFirstAttempts(
        db,
        results,
        [...complete].map(({ id }) => id),
      ),
    )
    const written = new Set(recorded.map(({ deliveryId }) => deliveryId))
    const wrote = idsByEvent(items.filter(({ result }) => written.has(result.deliveryId)))
    for (const [event, ids] of wrote) event.wrote(ids, complete.has(event))
    return recorded
  }

  async #recordOthers(results: readonly AttemptResult[], db: Queryable): Promise<RecordedAttempt[]> {
    if (results.length === 0) return []
    const recorded = await this.#retry(() => recordAttempts(db, results))
    const byId = new Map(results.map((result) => [result.deliveryId, result]))
    return Promise.all(
      recorded.map(async (one) => {
        const result = byId.get(one.deliveryId)
        if (!one.isRepeated || !result || result.key === null) return one
        const attempts = await this.#retry(() => countRepeatedAttempt(db, result))
        return { ...one, attempts: attempts ?? one.attempts }
      }),
    )
  }

  /** Two processes may attempt an event before it has rows. The first to write gives a delivery its id, and both attempts count. */
  async #recordInRowsOfOthers(items: readonly Item[], db: Queryable): Promise<void> {
    if (items.length === 0) return
    const results = items.map(({ result }) => result)
    const ids = await this.#retry(() => findWrittenIds(db, results))
    const there = results.flatMap((result) => {
      const deliveryId = ids.get(rowKey(result))
      return deliveryId === undefined ? [] : { ...result, deliveryId }
    })
    this.#disable(there, await this.#recordOthers(there, db))
  }

  #disable(results: readonly AttemptResult[], recorded: readonly RecordedAttempt[]): void {
    const disabling = new Set(recorded.filter((one) => one.disabledEndpoint).map((one) => one.deliveryId))
    const endpoints = results.filter(({ deliveryId }) => disabling.has(deliveryId))
    for (const id of new Set(endpoints.map(({ endpointId }) => endpointId))) this.options.onDisabled?.(id)
  }

  /** Retries while the database is unavailable, but not after a timeout, which rejects with `TimedOut`. */
  #retry<T>(statement: () => Promise<T>): Promise<T> {
    return this.options.retryWhileUnavailable(() =>
      statement().catch((error: unknown) => {
        throw isStatementTimeout(error) || isLockTimeout(error) ? new TimedOut(error) : error
      }),
    )
  }
}

/** If so, no statement ran, and nothing is known about the account. */
const wereAllBeingWritten = (answers: ReadonlyMap<Item, Answer>): boolean =>
  answers.size > 0 && [...answers.values()].every((answer) => answer === BEING_WRITTEN)

const isBeingWritten = ({ withoutRow }: Item): boolean => withoutRow?.event.isBeingWritten === true
const isWithoutRow = (item: Item): item is FirstItem => item.withoutRow?.event.isWritten === false

function idsByEvent(items: readonly FirstItem[]): Map<UnwrittenEvent, Set<DeliveryId>> {
  const ids = new Map<UnwrittenEvent, Set<DeliveryId>>()
  for (const { result, withoutRow } of items)
    ids.set(withoutRow.event, (ids.get(withoutRow.event) ?? new Set()).add(result.deliveryId))
  return ids
}
