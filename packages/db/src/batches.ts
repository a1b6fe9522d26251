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
   * Statements under way at once. Two for reads, so that PostgreSQL works on one while this process works on the results of
   * the other. One for writes: a commit waits for the disk, which can be flushed only so often, so each flush is to carry
   * as much as possible.
   */
  underWay: number
  /** Two items with a key in common never share a batch, and the later one waits for the other's. */
  keysOf?: (item: Item) => readonly string[]
  /** Whom an item is for: they get their places in a batch in turn. Without it, first come, first served. */
  shareOf?: (item: Item) => string
  maxItems?: number
  /** Size of an item, and at how many bytes a batch is full. One that is larger goes alone. */
  bytesOf?: (item: Item) => number
  maxBytes?: number
  /** After so many milliseconds, a statement (on a dead connection perhaps) holds up nothing but its own items. */
  slowMs?: number
}

const MAX_BATCH = 64
const SLOW_MS = 100

/**
 * Sends what comes while statements are under way together in the next one, so that a busy process spends one round trip
 * on many; one alone goes out at once. A statement is sent after all of its items came, so each sees what was committed
 * before it asked.
 */
export class Batches<Item, Result> {
  readonly #options: Required<BatchesOptions<Item, Result>>
  readonly #waiting = new FairQueue<Waiting<Item, Result>>()
  readonly #keysUnderWay = new Set<string>()
  #underWay = 0

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = {
      keysOf: () => [],
      shareOf: () => '',
      maxItems: MAX_BATCH,
      bytesOf: () => 0,
      maxBytes: Infinity,
      slowMs: SLOW_MS,
      ...options,
    }
  }

  add(item: Item): Promise<Result> {
    const { shareOf, keysOf } = this.#options
    return new Promise((resolve, reject) => {
      this.#waiting.push(shareOf(item), { item, keys: keysOf(item), resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#underWay === this.#options.underWay) return
    const batch = this.#take()
    if (batch.length === 0) return
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
    // What has to wait for a key of this batch leaves room beside it for the others.
    this.#next()
  }

  #take(): Waiting<Item, Result>[] {
    const { maxItems, maxBytes, bytesOf } = this.#options
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
      // What one of them broke must not fail the others: each is tried once more, alone. An outage meets them all.
      if (batch.length > 1 && !isUnavailable(error))
        await Promise.all(batch.map((waiting) => this.#run([waiting])))
      else for (const { reject } of batch) reject(error)
    }
  }
}
