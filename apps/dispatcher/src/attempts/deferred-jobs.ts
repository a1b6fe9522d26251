import type { Queryable } from '@signet/db'
import { Periodic } from '@signet/periodic'
import { deliveryJobId, type WebhookQueues } from '@signet/webhook-core/queue'
import { findScheduledOf, type ScheduledDelivery } from '../deliveries/deferred-store.js'
import type { EndpointLimiter } from '../fairness/endpoint-limiter.js'

export type DeferredJobsDeps = {
  db: Queryable
  queues: Pick<WebhookQueues, 'startDelayed'>
  limiter: Pick<EndpointLimiter, 'free' | 'permitsFor'>
  now: () => Date
  /** Milliseconds of a steady clock. */
  steadyNow?: () => number
}

const INTERVAL_MS = 100
const PAGE = 500
/** Pause between two searches of an endpoint. By then a job that was just deferred is in Redis. */
const PAUSE_MS = 1000
/** A job that starts this late was probably deferred, perhaps by a process that has ended since. */
const LATE_MS = 1000
/** The longest deferral plus a minute: after this, every job that was deferred has come back by itself. */
const FORGET_MS = 6 * 60_000
/** Beyond this many endpoints, jobs wait until their time. */
const MAX_ENDPOINTS = 1000

/** A search through the deliveries of an endpoint for jobs that were deferred. */
type Search = {
  notedAt: number
  beganAt: number
  /** When it may continue. */
  nextAt: number
  /** Where the next page begins; undefined before the first. */
  after: ScheduledDelivery | undefined
  isLastPage: boolean
  /** Due jobs of the page that have yet to be started. */
  jobIds: string[]
}

/**
 * Starts deferred jobs before their time when their endpoint has permits for them: their time was planned when the endpoint was slower,
 * or not measured. An endpoint that stays slow costs nothing here. What is due comes from PostgreSQL, so it does not matter which process
 * deferred a job.
 */
export class DeferredJobs {
  readonly #runs: Periodic
  /** In the order of their turns. */
  readonly #searches = new Map<string, Search>()
  readonly #steadyNow: () => number

  constructor(private readonly deps: DeferredJobsDeps) {
    this.#steadyNow = deps.steadyNow ?? (() => performance.now())
    this.#runs = new Periodic({
      everyMs: INTERVAL_MS,
      run: () => this.run(),
      // Without PostgreSQL or Redis nothing could be sent either, and the jobs come back by themselves.
      onError: () => undefined,
    })
  }

  start(): void {
    this.#runs.start()
  }

  stop(): Promise<void> {
    return this.#runs.stop()
  }

  /** Call it when a job of this endpoint was deferred. */
  deferred(endpointId: string): void {
    const notedAt = this.#steadyNow()
    const search = this.#searches.get(endpointId)
    if (search) search.notedAt = notedAt
    else if (this.#searches.size < MAX_ENDPOINTS)
      this.#searches.set(endpointId, { ...NEW_SEARCH, jobIds: [], notedAt })
  }

  /**
   * Call it after an attempt, but not after one that failed on our side: the search would find that same delivery, and start it again and
   * again before its time.
   */
  attempted(endpointId: string, { dueAt, startedAt }: { dueAt: Date | null; startedAt: Date }): void {
    if (dueAt && startedAt.getTime() - dueAt.getTime() > LATE_MS) this.deferred(endpointId)
  }

  /** Starts no more jobs than the process has free permits, endpoints in turn. */
  async run(): Promise<void> {
    const { limiter } = this.deps
    let { free } = limiter
    for (const [endpointId, search] of [...this.#searches]) {
      if (free <= 0 || this.#runs.stopping.aborted) return
      const now = this.#steadyNow()
      if (now - search.notedAt > FORGET_MS) this.#searches.delete(endpointId)
      else if (now >= search.nextAt) {
        const permits = Math.min(free, limiter.permitsFor(endpointId, { withinMs: INTERVAL_MS }))
        if (permits > 0) free -= await this.#continue(endpointId, search, permits)
      }
    }
  }

  /** Reads one page at most. Returns how many jobs it started. */
  async #continue(endpointId: string, search: Search, permits: number): Promise<number> {
    // Moves it to the end of the line.
    this.#searches.delete(endpointId)
    this.#searches.set(endpointId, search)
    if (search.jobIds.length === 0) await this.#readPage(endpointId, search)
    let started = 0
    while (started < permits && search.jobIds.length > 0) {
      const jobIds = search.jobIds.splice(0, permits - started)
      started += await this.deps.queues.startDelayed('deliveries', jobIds)
    }
    if (search.isLastPage && search.jobIds.length === 0) this.#end(endpointId, search)
    return started
  }

  async #readPage(endpointId: string, search: Search): Promise<void> {
    const { db, now } = this.deps
    if (search.after === undefined) search.beganAt = this.#steadyNow()
    const { after } = search
    const page = await findScheduledOf(db, endpointId, { now: now(), after, limit: PAGE })
    search.jobIds = page.filter(({ isDue }) => isDue).map(({ id }) => deliveryJobId(id))
    search.isLastPage = page.length < PAGE
    search.after = page.at(-1)
  }

  /** Ends the search if it began after the last deferral had reached Redis. Otherwise it may have missed that job, and starts over. */
  #end(endpointId: string, search: Search): void {
    if (search.notedAt <= search.beganAt - PAUSE_MS) this.#searches.delete(endpointId)
    else Object.assign(search, NEW_SEARCH, { nextAt: this.#steadyNow() + PAUSE_MS })
  }
}

const NEW_SEARCH = { beganAt: 0, nextAt: 0, after: undefined, isLastPage: false }
