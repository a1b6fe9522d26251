export type BatcherOptions<Item, Result> = {
  /** Does one batch; the results are in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Items of one batch at most; asked for each batch. */
  maxItems: () => number
  /** How long the first item of a batch waits for others, in milliseconds. 0 is the end of the current event-loop turn. */
  lingerMs: number
  /** Batches under way at once. While all are, items gather, so batches grow with the load by themselves. */
  parallel: number
}

type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (reason: unknown) => void
}

/**
 * Turns many single requests into few statements: one round trip, one parse and one commit for a whole batch. Each caller
 * still waits for the batch with its own item in it, so a result means that it is done.
 */
export class Batcher<Item, Result> {
  private readonly options: BatcherOptions<Item, Result>
  private waiting: Waiting<Item, Result>[] = []
  private running = 0
  private scheduled = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.options = options
  }

  submit(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject })
      if (this.waiting.length >= this.options.maxItems()) this.start()
      else this.schedule()
    })
  }

  private schedule(): void {
    if (this.scheduled || this.running >= this.options.parallel) return
    this.scheduled = true
    const flush = () => {
      this.scheduled = false
      this.start()
    }
    if (this.options.lingerMs === 0) setImmediate(flush)
    else setTimeout(flush, this.options.lingerMs)
  }

  private start(): void {
    while (this.waiting.length > 0 && this.running < this.options.parallel)
      void this.runBatch(this.waiting.splice(0, this.options.maxItems()))
  }

  private async runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.running += 1
    try {
      const results = await this.options.run(batch.map(({ item }) => item))
      if (results.length !== batch.length)
        throw new Error(`a batch of ${batch.length} had ${results.length} results`)
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.running -= 1
      // Whoever arrived meanwhile has waited long enough.
      this.start()
    }
  }
}
