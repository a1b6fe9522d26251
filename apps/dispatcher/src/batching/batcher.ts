import { FairQueue } from '@signet/db'

export type BatcherOptions<Item, Result> = {
  /** Processes one batch. Returns the results in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Largest batch. Called again for each batch. */
  maxItems: () => number
  /** How long the first item of a batch waits for others, in milliseconds, including the wait for the previous batch. */
  lingerMs: number
  /** Whose turn it is: if more wait than fit into a batch, each key gets its share. By default, first come, first served. */
  keyOf?: (item: Item) => string
  /** Batches in progress at once. Items that arrive meanwhile collect, so batches grow with the load. */
  parallel: number
}

type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (reason: unknown) => void
}

/**
 * Combines many single requests into few statements: one round trip and one commit for a whole batch. Each caller waits for
 * the batch that contains its own item, so a result means that the work is done.
 */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #waiting = new FairQueue<Waiting<Item, Result>>()
  /** When the first item arrived that is not in a batch yet. */
  #waitingSince = 0
  #running = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  submit(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const key = this.#options.keyOf?.(item) ?? ''
      if (this.#waiting.size === 0) this.#waitingSince = performance.now()
      this.#waiting.push(key, { item, resolve, reject })
      if (this.#running >= this.#options.parallel) return
      if (this.#waiting.size >= this.#options.maxItems()) this.#start()
      else this.#schedule()
    })
  }

  /** Starts a batch when the first item has waited long enough. */
  #schedule(): void {
    if (this.#waiting.size > 0) this.#timer ??= setTimeout(() => this.#start(), this.#remainingMs())
  }

  #remainingMs(): number {
    return this.#waitingSince + this.#options.lingerMs - performance.now()
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#waiting.size > 0 && this.#running < this.#options.parallel)
      void this.#runBatch(this.#take(this.#options.maxItems()))
  }

  #take(count: number): Waiting<Item, Result>[] {
    let left = count
    return this.#waiting.take(() => (left-- > 0 ? 'take' : 'stop'))
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#running += 1
    try {
      const results = await this.#options.run(batch.map(({ item }) => item))
      if (results.length !== batch.length)
        throw new Error(`a batch of ${batch.length} had ${results.length} results`)
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.#running -= 1
      if (this.#waiting.size >= this.#options.maxItems() || this.#remainingMs() <= 0) this.#start()
      else this.#schedule()
    }
  }
}
