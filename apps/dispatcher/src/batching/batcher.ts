export type BatcherOptions<Item, Result> = {
  /** Does one batch; the results are in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Items of one batch at most; asked for each batch. */
  maxItems: () => number
  /**
   * How long the first item of a batch waits for others, in milliseconds; what it waits for the batch before counts.
   */
  lingerMs: number
  /** Batches under way at once. While all are, items gather, so batches grow with the load by themselves. */
  parallel: number
}

type Waiting<Item, Result> = {
  item: Item
  since: number
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
  private timer: NodeJS.Timeout | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.options = options
  }

  submit(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.waiting.push({ item, since: performance.now(), resolve, reject })
      if (this.running >= this.options.parallel) return
      if (this.waiting.length >= this.options.maxItems()) this.start()
      else this.schedule()
    })
  }

  /** Starts when the first item has waited long enough. */
  private schedule(): void {
    if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.start(), this.restMs())
  }

  private restMs(): number {
    return (this.waiting[0]?.since ?? 0) + this.options.lingerMs - performance.now()
  }

  private start(): void {
    clearTimeout(this.timer)
    this.timer = undefined
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
      if (this.waiting.length >= this.options.maxItems() || this.restMs() <= 0) this.start()
      else this.schedule()
    }
  }
}
