export type PeriodicJob = {
  name: string
  everyMs: number
  /** `stop` is aborted when the schedule is closed: what can stop half-way should. */
  run: (stop: AbortSignal) => Promise<void>
}

/** Runs jobs periodically until it is closed. A failed run is reported, and the job runs again at its next time. */
export class Schedule {
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()

  constructor(
    jobs: readonly PeriodicJob[],
    private readonly onError: (name: string, error: unknown) => void,
  ) {
    for (const job of jobs) {
      // The first run soon: a process may not live as long as the interval.
      this.#timers.push(setTimeout(() => this.#start(job), FIRST_RUN_MS).unref())
      this.#timers.push(setInterval(() => this.#start(job), job.everyMs).unref())
    }
  }

  /** Starts no more jobs and waits for those in progress. */
  async close(): Promise<void> {
    this.#timers.forEach((timer) => clearTimeout(timer))
    this.#stop.abort()
    await Promise.all(this.#running)
  }

  #start(job: PeriodicJob): void {
    const run = job.run(this.#stop.signal).catch((error: unknown) => this.onError(job.name, error))
    this.#running.add(run)
    void run.finally(() => this.#running.delete(run))
  }
}

const FIRST_RUN_MS = 60_000
