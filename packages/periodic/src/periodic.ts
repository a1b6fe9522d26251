export type PeriodicOptions = {
  /** Milliseconds between the end of a run and the next one. */
  everyMs: number
  /** Milliseconds before the first run; none by default. */
  firstMs?: number
  /** `stopping` is aborted when no further work should begin. A run that can stop part-way should do so. */
  run: (stopping: AbortSignal) => Promise<unknown>
  /** Called with the error of a failed run. The next run still starts on time. */
  onError: (error: unknown) => void
}

/** Repeats work until it is stopped, one run at a time. Its timer does not keep the process alive. */
export class Periodic {
  readonly #stop = new AbortController()
  #isStarted = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #again = false

  constructor(private readonly options: PeriodicOptions) {}

  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  start(): void {
    const { firstMs = 0 } = this.options
    this.#isStarted = true
    if (firstMs > 0) this.#wait(firstMs)
    else void this.request()
  }

  /**
   * Runs now. If a run is in progress, runs once more after it, because that one may have looked too early. Resolves when no run is
   * left. Works before `start` too, and does nothing after `stop`.
   */
  async request(): Promise<void> {
    if (!this.stopping.aborted) {
      this.#again = true
      this.#running ??= this.#runAll()
    }
    await this.#running
  }

  /** Starts no more runs, and waits for a run that is in progress. */
  async stop(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  async #runAll(): Promise<void> {
    clearTimeout(this.#timer)
    while (this.#again && !this.stopping.aborted) {
      this.#again = false
      await this.#run().catch(this.options.onError)
    }
    // Clear this in the same tick as the last check. A request in between would see a run in progress and never be handled.
    this.#running = undefined
    if (this.#isStarted) this.#wait(this.options.everyMs)
  }

  /** Rejects even if `run` throws synchronously. */
  async #run(): Promise<void> {
    await this.options.run(this.stopping)
  }

  #wait(ms: number): void {
    if (!this.stopping.aborted) this.#timer = setTimeout(() => void this.request(), ms).unref()
  }
}
