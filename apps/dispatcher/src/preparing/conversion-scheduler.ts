import { LRUCache } from 'lru-cache'
import { AccountBudget } from '../fairness/account-budget.js'
import { AccountShares } from '../fairness/account-shares.js'
import { DeferralPacer } from '../fairness/deferral-pacer.js'
import type { ConversionFailure } from '../markdown/conversion-limit.js'
import { CONVERSION_THREADS, CPU_LIMIT_MS } from '../markdown/markdown-converter.js'
import type { MarkdownResult } from '../markdown/markdown-worker.js'
import { CpuBudget } from './cpu-budget.js'

/** Why an event carries HTML unchanged. */
export type UnconvertedReason = ConversionFailure | 'event_budget' | 'account_budget'
export type ConversionOutcome = { markdown: string } | { failure: UnconvertedReason }
export type Convert = (html: string, cpuLimitMs?: number) => Promise<MarkdownResult>

export type ConversionSchedulerOptions = {
  convert: Convert
  /** Events that the process takes from the queue at once. */
  jobs: number
  threads?: number
  now?: () => number
}

/** Events waiting for conversions, as a share of the process's jobs. */
const SHARE_OF_JOBS = 0.8
/** An account may take more while it has less than a third of what is free: alone a quarter of it, which is a fifth of the jobs. */
const TIMES_FREE = 1 / 3
/** HTML that fits into the share of an account alone: large events count as several. */
const BYTES_ALONE = 4 * 1024 * 1024
/** CPU time for all documents of one event. */
export const EVENT_BUDGET_MS = 4000
const MIN_DEFER_MS = 250
const MAX_DEFER_MS = 30_000
/** Assumed duration of an event's conversions until some have been measured. */
const INITIAL_ESTIMATE_MS = 10

/** Accounts whose deferred events are remembered. */
const MAX_REMEMBERED = 10_000

const NO_TIME = { cpuMs: 0, tookMs: 0 }

/**
 * Where events wait for their HTML to be converted, apart from all other events. Accounts take turns, document by document, and none
 * has every thread. An event that finds no room is deferred, so that waiting events take neither memory nor worker slots from others.
 */
export class ConversionScheduler {
  readonly #shares: AccountShares
  readonly #bytesPerEvent: number
  readonly #pacers = new LRUCache<string, DeferralPacer>({ max: MAX_REMEMBERED })
  #averageMs = INITIAL_ESTIMATE_MS
  readonly #threads: AccountBudget
  readonly #budget: CpuBudget
  readonly #now: () => number

  constructor(private readonly options: ConversionSchedulerOptions) {
    this.#now = options.now ?? (() => performance.now())
    const size = Math.max(4, SHARE_OF_JOBS * options.jobs)
    this.#shares = new AccountShares({ size, timesFree: TIMES_FREE })
    this.#bytesPerEvent = BYTES_ALONE / (size / 4)
    const threads = options.threads ?? CONVERSION_THREADS
    // With all of them, an account would have every core of a small machine, and others would wait for the rest of a document.
    this.#threads = new AccountBudget({ size: threads, timesFree: 1 })
    this.#budget = new CpuBudget(this.#now)
  }

  /** Documents that wait for a thread. */
  get waiting(): number {
    return this.#threads.waiting
  }

  /** Whether another event of the account may wait here. */
  mayWait(accountId: string): boolean {
    return this.#shares.mayTakeMore(accountId)
  }

  /** When an event that found no room should come back. Each gets a later time than the one before. */
  deferMs(accountId: string): number {
    const pacer =
      this.#pacers.get(accountId) ?? new DeferralPacer({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_DEFER_MS })
    this.#pacers.set(accountId, pacer)
    return Math.round(Math.max(MIN_DEFER_MS, pacer.turnMs(this.#now(), this.#averageMs)))
  }

  /** Converts the documents of one event, one after the other, in their order. */
  async convertAll(accountId: string, documents: readonly string[]): Promise<ConversionOutcome[]> {
    const bytes = documents.reduce((sum, { length }) => sum + length, 0)
    // An event may be larger than all that may wait. Counted in full, it would keep all others out.
    const counted = Math.max(1, Math.min(bytes / this.#bytesPerEvent, this.#shares.availableTo(accountId)))
    this.#shares.add(accountId, counted)
    try {
      const outcomes: ConversionOutcome[] = []
      let [usedMs, tookMs] = [0, 0]
      for (const html of documents) {
        const converted = await this.#convert(accountId, html, EVENT_BUDGET_MS - usedMs)
        outcomes.push(converted.outcome)
        usedMs += converted.cpuMs
        tookMs += converted.tookMs
      }
      this.#averageMs = 0.9 * this.#averageMs + 0.1 * tookMs
      return outcomes
    } finally {
      this.#shares.add(accountId, -counted)
    }
  }

  async #convert(
    accountId: string,
    html: string,
    eventLeftMs: number,
  ): Promise<{ outcome: ConversionOutcome; cpuMs: number; tookMs: number }> {
    if (eventLeftMs <= 0) return { outcome: { failure: 'event_budget' }, ...NO_TIME }
    const { release } = await this.#threads.acquire(accountId)
    const startedAt = this.#now()
    try {
      const accountLeftMs = this.#budget.leftMs(accountId)
      if (accountLeftMs <= 0) return { outcome: { failure: 'account_budget' }, ...NO_TIME }
      const limitMs = Math.min(eventLeftMs, accountLeftMs)
      const { cpuMs, ...outcome } = await this.options.convert(html, limitMs)
      this.#budget.spend(accountId, cpuMs)
      const spent = { cpuMs, tookMs: this.#now() - startedAt }
      if (!('failure' in outcome) || outcome.failure !== 'cpu_limit' || limitMs >= CPU_LIMIT_MS)
        return { outcome, ...spent }
      return {
        outcome: { failure: eventLeftMs < accountLeftMs ? 'event_budget' : 'account_budget' },
        ...spent,
      }
    } finally {
      release()
    }
  }
}
