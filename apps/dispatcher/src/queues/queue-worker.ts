import { setTimeout as sleep } from 'node:timers/promises'
import { jobOptions } from '@signet/webhook-core/queue'
import type { Job, JobJson, WorkerOptions } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import pTimeout from 'p-timeout'
import { bullmq } from './bullmq.js'
import { backoffOf, internalFailureDelayMs } from './job-backoff.js'
import { parseJson } from './job-data.js'
import { QueueRepair } from './queue-repair.js'

export type WorkerConnection = { connection: Redis | Cluster; prefix: string }

export type QueueWorkerOptions<Data> = {
  queue: WorkerConnection
  /** Returns null for data that we never queue, such as what is left of a job whose hash Redis evicted. */
  parse: (data: unknown) => Data | null
  /** Called for a job with such data. It leaves the queue without being run, and the sweeper creates another from the row. */
  onDropped: (jobId: string | undefined) => void
  /** Pauses or resumes the queue, whichever operators chose last. Called when Redis may have lost that. */
  applyPause: () => Promise<unknown>
  /** Units of work in progress at once. A job may exceed this, because it is taken as soon as one unit is free, however many it has. */
  capacity: number
  /** Units of a job, by default one. */
  unitsOf?: (data: Data) => number
  /** Runs a job. May call `release` when one of its units has ended, and all others are released when it returns. */
  process: (job: Job<Data, void>, token: string, release: () => void) => Promise<void>
  /** Delay before a failed job runs again. */
  backoff?: (failures: number, error?: Error) => number
  /** BullMQ's wait for a job counts as lost after this time. */
  longestWaitMs?: number
}

/** Pause after a Redis error. The default of 15 s would prolong every outage. */
const RETRY_DELAY_MS = 500

/** Shorter than the time after which a connection that does not answer counts as lost (packages/redis). BullMQ's default is up to 10 s. */
const MAX_BLOCK_SECONDS = 2

/** BullMQ gives up a blocking read after {@link MAX_BLOCK_SECONDS} and another second, and then needs a connection. */
const LONGEST_WAIT_MS = 8_000

/**
 * Another worker takes over a lost worker's job once its lock has expired and the next check for stalled jobs has run: at
 * most 13 s later. Locks are renewed every 5 s, so only a process that blocks for longer loses one. A job is never dropped
 * for stalling too often: the table decides when a delivery ends.
 */
export const workerOptions: Omit<WorkerOptions, 'connection'> = {
  autorun: false,
  lockDuration: 10_000,
  stalledInterval: 3_000,
  maxStalledCount: 2 ** 31 - 1,
  runRetryDelay: RETRY_DELAY_MS,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
}

/** What all jobs have in common. */
const EMPTY_JOB = { data: '{}', opts: jobOptions, progress: 0, failedReason: '', returnvalue: '' }

/**
 * A BullMQ worker that takes jobs as long as there is room for their units. BullMQ's own loop counts jobs, whatever they hold,
 * and starts none before it has fetched all it may have, one round trip after the other: a job then waits for those behind it.
 */
export class QueueWorker<Data> extends bullmq.Worker<Data, void> {
  readonly #options: Required<Pick<QueueWorkerOptions<Data>, 'parse' | 'capacity' | 'unitsOf'>>
  readonly #repair: QueueRepair
  /** Units in progress. */
  #used = 0
  #fetches = 0
  #isWaitLost = false
  readonly #longestWaitMs: number
  readonly #running = new Set<Promise<void>>()
  #roomWanted: (() => void) | undefined
  readonly #releases: WeakMap<object, () => void>
  readonly #unreadable: WeakSet<object>

  constructor(name: string, options: QueueWorkerOptions<Data>) {
    const { queue, parse, onDropped, applyPause, process, capacity } = options
    const { unitsOf = () => 1, backoff = internalFailureDelayMs, longestWaitMs = LONGEST_WAIT_MS } = options
    const releases = new WeakMap<object, () => void>()
    const unreadable = new WeakSet()
    const run = async (job: Job<Data, void>, token = ''): Promise<void> => {
      // It completes like any other job, which removes it.
      if (unreadable.has(job)) onDropped(job.id)
      else await process(job, token, () => releases.get(job)?.())
    }
    super(name, run, { ...workerOptions, ...queue, settings: { backoffStrategy: backoffOf(backoff) } })
    this.#options = { parse, capacity, unitsOf }
    this.#longestWaitMs = longestWaitMs
    this.#repair = new QueueRepair({
      connection: queue.connection,
      toKey: (name) => this.toKey(name),
      onDropped,
      applyPause,
      onError: (error) => this.emit('error', error),
    })
    this.on('error', (error) => this.#repair.notice(error))
    this.#releases = releases
    this.#unreadable = unreadable
  }

  /** Resolves when the worker is closed and its jobs have ended. */
  override async run(): Promise<void> {
    if (this.closing) return
    this.running = true
    await this.startStalledCheckTimer()
    this.lockManager.start()
    this.#repair.start()
    this.mainLoopRunning = this.#takeJobs()
    await this.mainLoopRunning
    this.running = false
  }

  /** Call it when a job was found that is in none of the queue's lists, where no worker would ever take it. */
  lookForStrays(): void {
    this.#repair.lookForStrays()
  }

  protected override getBlockTimeout(blockUntil: number): number {
    return Math.min(super.getBlockTimeout(blockUntil), MAX_BLOCK_SECONDS)
  }

  /**
   * BullMQ calls this for every job it reads from Redis. The job gets the data only after it was checked, the options that all of our
   * jobs have, and BullMQ's counters. Everything else that Redis stores for it is dropped: a job that names a scheduler, for example,
   * would make BullMQ look for that scheduler's next job.
   */
  protected override createJob(stored: JobJson, jobId: string): Job<Data, void> {
    const data = this.#options.parse(parseJson(stored.data))
    const { name, timestamp, attemptsMade, attemptsStarted, stalledCounter } = stored
    const counts = {
      timestamp,
      attemptsMade,
      attemptsStarted,
      stalledCounter,
      priority: stored.priority || 0,
    }
    const job = super.createJob({ ...EMPTY_JOB, ...counts, id: jobId, name }, jobId)
    if (data === null) this.#unreadable.add(job)
    else job.data = data
    return job
  }

  // A worker gets jobs in these three ways: when it asks for one, and as the answer when it completes or fails one.

  protected override moveToActive(token: string, name?: string): Promise<Job<Data, void>> {
    return this.#orDropped(super.moveToActive(token, name), token)
  }

  protected override handleCompleted(
    result: void,
    job: Job<Data, void>,
    token: string,
    mayFetchNext?: () => boolean,
  ): Promise<Job<Data, void>> {
    return this.#orDropped(super.handleCompleted(result, job, token, mayFetchNext), token, job.id)
  }

  protected override handleFailed(
    error: Error,
    job: Job<Data, void>,
    token: string,
    mayFetchNext?: () => boolean,
  ): Promise<Job<Data, void>> {
    return this.#orDropped(super.handleFailed(error, job, token, mayFetchNext), token, job.id)
  }

  /**
   * Drops a job that BullMQ cannot read. Otherwise it would come back and fail again whenever its lock has expired, and the sweeper would
   * create no other, because this one exists.
   */
  async #orDropped(
    taken: Promise<Job<Data, void>>,
    token: string,
    finished?: string,
  ): Promise<Job<Data, void>> {
    try {
      return await taken
    } catch (error) {
      if (!(await this.#repair.dropAfter(error, token, finished))) throw error
      // BullMQ then considers the queue empty.
      return undefined as unknown as Job<Data, void>
    }
  }

  override async extendJobLocks(...locks: [ids: string[], tokens: string[], ms: number]): Promise<string[]> {
    try {
      return await super.extendJobLocks(...locks)
    } catch (error) {
      if (!(await this.#repair.freeLocksAfter(error))) throw error
      return super.extendJobLocks(...locks)
    }
  }

  override close(force?: boolean): Promise<void> {
    // Not awaited: a check that is under way does not end while Redis is unavailable.
    void this.#repair.stop()
    const closed = super.close(force)
    this.#roomWanted?.()
    return closed
  }

  async #takeJobs(): Promise<void> {
    while (!this.closing) {
      const job = this.#hasRoom() ? await this.#fetch() : await this.#untilThereIsRoom()
      if (job) this.#start(job)
    }
    await Promise.all(this.#running)
  }

  #start(job: Job<Data, void>): void {
    const work = this.#work(job).finally(() => this.#running.delete(work))
    this.#running.add(work)
  }

  #hasRoom(): boolean {
    return this.#used < this.#options.capacity
  }

  #untilThereIsRoom(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#roomWanted = () => {
        this.#roomWanted = undefined
        resolve(undefined)
      }
    })
  }

  async #fetch(): Promise<Job<Data, void> | undefined> {
    try {
      const next = this.getNextJob(`${this.id}:${(this.#fetches += 1)}`)
      if (!this.#isWaitLost) return await this.#unlessLost(next)
      const job = await next
      if (!job && !this.closing) await sleep(RETRY_DELAY_MS)
      return job
    } catch (error) {
      if (this.closing) return undefined
      this.emit('error', error as Error)
      await sleep(RETRY_DELAY_MS)
      return undefined
    }
  }

  /**
   * BullMQ's wait may never end: when a node of a cluster goes away, BullMQ may wait for its blocking connection to become ready after that
   * has happened. While one wait is lost, BullMQ answers without another. A job that the lost wait brings in the end runs as well.
   */
  #unlessLost(next: Promise<Job<Data, void> | undefined>): Promise<Job<Data, void> | undefined> {
    const fallback = () => {
      this.#isWaitLost = true
      const late = next.then((job) => job && this.#start(job))
      void late.catch((error: Error) => this.emit('error', error)).finally(() => (this.#isWaitLost = false))
      return undefined
    }
    return pTimeout(next, { milliseconds: this.#longestWaitMs, fallback })
  }

  /** Runs a job, then the next one, which Redis returns when the first is finished, and so on. */
  async #work(first: Job<Data, void>): Promise<void> {
    for (let job: Job<Data, void> | undefined = first; job !== undefined;) job = await this.#handle(job)
  }

  /** Never rejects: an error of one job does not stop the others. */
  async #handle(job: Job<Data, void>): Promise<Job<Data, void> | undefined> {
    let releaseAll = () => {}
    try {
      const taken = this.#take(job)
      releaseAll = taken.releaseAll
      this.#releases.set(job, taken.release)
      const mayFetchNext = () => {
        releaseAll()
        return this.#hasRoom()
      }
      return (await this.processJob(job, job.token ?? '', mayFetchNext)) ?? undefined
    } catch (error) {
      // The job keeps its lock until that expires. Then another worker takes it over.
      if (!this.closing) this.emit('error', error as Error)
      return undefined
    } finally {
      releaseAll()
    }
  }

  #take(job: Job<Data, void>): { release: () => void; releaseAll: () => void } {
    let units = this.#unreadable.has(job) ? 1 : this.#options.unitsOf(job.data)
    this.#used += units
    const release = () => {
      if (units === 0) return
      units -= 1
      this.#used -= 1
      if (this.#hasRoom()) this.#roomWanted?.()
    }
    const releaseAll = () => {
      while (units > 0) release()
    }
    return { release, releaseAll }
  }
}
