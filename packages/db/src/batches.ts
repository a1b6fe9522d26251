import { FairQueue } from './fair-queue.js'
import { isUnavailable } from './pg-errors.js'

type Waiting<Item, Result> = {
  item: Item
  keys: readonly string[]
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export type BatchesOptions<Item, Result> = {
  /** Runs one batch. Returns the results in the order of the items. */
  send: (items: readonly Item[]) => Promise<readonly Result[]>
  /**
   * Statements that run at the same time. Two for reads, so that PostgreSQL works on one while this process works on the results of
   * the other. One for writes: a commit waits for the disk, which can be flushed only so often, so each flush should carry
   * as much as possible.
   */
  underWay: number
  /** Two items with a key in common never share a batch: the later one waits until the earlier one's batch is done. */
  keysOf?: (item: Item) => readonly string[]
  /** The share that an item belongs to. Shares take turns for places in a batch. Without this: first come, first served. */
  shareOf?: (item: Item) => string
  /** A function is called for each batch, for callers that find out how large items are. */
  maxItems?: number | (() => number)
  /** How long the first item waits for others, in milliseconds, including its wait for an earlier batch. By default it does not wait. */
  lingerMs?: number
  /**
   * Time between the starts of two batches that are not full, in milliseconds. In a steady stream each batch then carries what arrived
   * in that time, while a single item is still sent at once.
   */
  paceMs?: number
  /** Size of an item, and the size at which a batch is full. An item that is larger than that is sent alone. */
  bytesOf?: (item: Item) => number
  maxBytes?: number
  /** After this many milliseconds, a statement (perhaps on a dead connection) holds up only its own items. */
  slowMs?: number
}

const MAX_BATCH = 64
const SLOW_MS = 100

/**
 * Collects the items that arrive while statements are running into the next statement, so that a busy process handles many of them in
 * one round trip. A single item is sent at once, unless items linger for others. A statement is sent after all of its items were added,
 * so each item sees what was committed before it was added.
 */
export class Batches<Item, Result> {
  readonly #options: Required<BatchesOptions<Item, Result>>
  readonly #waiting = new FairQueue<Waiting<Item, Result>>()
  readonly #keysUnderWay = new Set<string>()
  #underWay = 0
  /** When the oldest waiting item was added, or earlier. */
  #waitingSince = 0
  #startedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = {
      keysOf: () => [],
      shareOf: () => '',
      maxItems: MAX_BATCH,
      lingerMs: 0,
      paceMs: 0,
      bytesOf: () => 0,
      maxBytes: Infinity,
      slowMs: SLOW_MS,
      ...options,
    }
  }

  add(item: Item): Promise<Result> {
    const { shareOf, keysOf } = this.#options
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#waitingSince = performance.now()
      this.#waiting.push(shareOf(item), { item, keys: keysOf(item), resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#underWay === this.#options.underWay || this.#linger()) return
    const batch = this.#take()
    if (batch.length === 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#startedAt = performance.now()
    this.#underWay += 1
    let counts = true
    const giveWay = () => {
      if (!counts) return
      counts = false
      this.#underWay -= 1
      for (const { keys } of batch) for (const key of keys) this.#keysUnderWay.delete(key)
      this.#next()
    }
    const { slowMs } = this.#options
    const timer = slowMs === Infinity ? undefined : setTimeout(giveWay, slowMs)
    void this.#run(batch).finally(() => {
      clearTimeout(timer)
      giveWay()
    })
    // Items that must wait for a key of this batch do not delay the others.
    this.#next()
  }

  /** Returns true if a batch should wait for more items, and then starts it when the wait is over. */
  #linger(): boolean {
    const { lingerMs, paceMs } = this.#options
    if (lingerMs + paceMs === 0 || this.#waiting.size === 0 || this.#waiting.size >= this.#maxItems())
      return false
    const startAt = Math.max(this.#waitingSince + lingerMs, this.#startedAt + paceMs)
    const leftMs = startAt - performance.now()
    if (leftMs <= 0) return false
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#next()
    }, leftMs)
    return true
  }

  #maxItems(): number {
    const { maxItems } = this.#options
    return typeof maxItems === 'number' ? maxItems : maxItems()
  }

  #take(): Waiting<Item, Result>[] {
    const { maxBytes, bytesOf } = this.#options
    const maxItems = this.#maxItems()
    let items = 0
    let bytes = 0
    return this.#waiting.take(({ item, keys }) => {
      if (items === maxItems) return 'stop'
      if (keys.some((key) => this.#keysUnderWay.has(key))) return 'leave'
      bytes += bytesOf(item)
      if (items > 0 && bytes > maxBytes) return 'stop'
      items += 1
      for (const key of keys) this.#keysUnderWay.add(key)
      return 'take'
    })
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.send(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      // One bad item must not fail the others, so each is retried alone. An outage affects them all, so it is not retried.
      if (batch.length > 1 && !isUnavailable(error))
        await Promise.all(batch.map((waiting) => this.#run([waiting])))
      else for (const { reject } of batch) reject(error)
    }
  }
}
