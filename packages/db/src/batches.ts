type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

type Options<Item, Result> = {
  /** Runs one batch. Returns the results in the order of the items. */
  send: (items: readonly Item[]) => Promise<readonly Result[]>
  /**
   * Statements under way at once. Two for reads, so that PostgreSQL works on one while this process works on the results of
   * the other. One for writes: a commit waits for the disk, which can be flushed only so often, so each flush is to carry
   * as much as possible.
   */
  underWay: number
  /** Two items with the same key never share a batch. */
  keyOf?: (item: Item) => string
}

const MAX_BATCH = 64
/** A statement that takes longer, on a connection that is dead perhaps, holds up nothing but its own items. */
const SLOW_MS = 100

/**
 * Sends what comes while statements are under way together in the next one, so that a busy process spends one round trip
 * on many; one alone goes out at once. A statement is sent after all of its items came, so each sees what was committed
 * before it asked.
 */
export class Batches<Item, Result> {
  #waiting: Waiting<Item, Result>[] = []
  #underWay = 0

  constructor(private readonly options: Options<Item, Result>) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#underWay === this.options.underWay || this.#waiting.length === 0) return
    this.#underWay += 1
    let counts = true
    const giveWay = () => {
      if (!counts) return
      counts = false
      this.#underWay -= 1
      this.#next()
    }
    const timer = setTimeout(giveWay, SLOW_MS)
    void this.#run(this.#take()).finally(() => {
      clearTimeout(timer)
      giveWay()
    })
  }

  #take(): Waiting<Item, Result>[] {
    const { keyOf } = this.options
    if (keyOf === undefined) return this.#waiting.splice(0, MAX_BATCH)
    const batch = new Map<string, Waiting<Item, Result>>()
    const later: Waiting<Item, Result>[] = []
    for (const waiting of this.#waiting) {
      const key = keyOf(waiting.item)
      if (batch.size === MAX_BATCH || batch.has(key)) later.push(waiting)
      else batch.set(key, waiting)
    }
    this.#waiting = later
    return [...batch.values()]
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.options.send(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      // What one of them broke must not fail the others: each is tried once more, alone.
      if (batch.length > 1) await Promise.all(batch.map((waiting) => this.#run([waiting])))
      else batch[0]?.reject(error)
    }
  }
}
