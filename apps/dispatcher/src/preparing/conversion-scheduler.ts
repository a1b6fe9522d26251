import { DeferralLine } from '../fairness/deferral-line.js'
import { FairSemaphore } from '../fairness/fair-semaphore.js'
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

/** HTML waiting in memory. One account may hold half of it; an event that exceeds this half counts only up to it. */
const MAX_BYTES = 8 * 1024 * 1024
/** Events waiting for conversions, as a share of the process's jobs. One account may hold half of them. */
const SHARE_OF_JOBS = 0.4
/** CPU time for all documents of one event. */
export const EVENT_BUDGET_MS = 4000
const MIN_DEFER_MS = 250
const MAX_DEFER_MS = 30_000
/** How long the conversions of an event take, until some have been measured. */
const INITIAL_ESTIMATE_MS = 10

const NO_TIME = { cpuMs: 0, tookMs: 0 }

const newLine = () => new DeferralLine({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_DEFER_MS })

type AccountUsage = { events: number; bytes: number; line: DeferralLine }

/**
 * Where events wait for their HTML to be converted, apart from all other events. Accounts take turns, document by document, and none
 * has every thread. An event that finds no room is deferred, so that waiting events take neither memory nor worker slots from others.
 */
export class ConversionScheduler {
  readonly #accounts = new Map<string, AccountUsage>()
  #total = { events: 0, bytes: 0 }
  #averageMs = INITIAL_ESTIMATE_MS
  readonly #threads: FairSemaphore
  readonly #budget: CpuBudget
  readonly #now: () => number

  constructor(private readonly options: ConversionSchedulerOptions) {
    this.#now = options.now ?? (() => performance.now())
    const threads = options.threads ?? CONVERSION_THREADS
    // With all of them, an account would have every core of a small machine, and others would wait for the rest of a document.
    this.#threads = new FairSemaphore(threads, Math.max(1, threads - 1))
    this.#budget = new CpuBudget(this.#now)
  }

  /** Documents that wait for a thread. */
  get waiting(): number {
    return this.#threads.queueLength
  }

  /** An account with no waiting events finds room unless other accounts fill it twice. */
  hasRoomFor(accountId: string): boolean {
    const own = this.#accounts.get(accountId) ?? { events: 0, bytes: 0 }
    const maxEvents = Math.max(2, Math.floor(SHARE_OF_JOBS * this.options.jobs))
    if (own.events >= maxEvents / 2 || own.bytes >= MAX_BYTES / 2) return false
    const factor = own.events === 0 ? 2 : 1
    return this.#total.events < factor * maxEvents && this.#total.bytes < factor * MAX_BYTES
  }

  /** When an event that found no room should come back. Each gets a later time than the one before. */
  deferMs(accountId: string): number {
    const now = this.#now()
    const delayMs = this.#stateOf(accountId).line.turnMs(now, this.#averageMs)
    this.#forgetIdle(accountId)
    return Math.round(Math.max(MIN_DEFER_MS, delayMs))
  }

  /** Converts the documents of one event, one after the other, in their order. */
  async convertAll(accountId: string, documents: readonly string[]): Promise<ConversionOutcome[]> {
    const size = documents.reduce((sum, { length }) => sum + length, 0)
    // An event may be several times larger than MAX_BYTES. Counted in full, it would keep all others out.
    const bytes = Math.min(size, Math.max(0, MAX_BYTES / 2 - this.#stateOf(accountId).bytes))
    this.#add(accountId, 1, bytes)
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
      this.#add(accountId, -1, -bytes)
      this.#forgetIdle(accountId)
    }
  }

  async #convert(
    accountId: string,
    html: string,
    eventLeftMs: number,
  ): Promise<{ outcome: ConversionOutcome; cpuMs: number; tookMs: number }> {
    if (eventLeftMs <= 0) return { outcome: { failure: 'event_budget' }, ...NO_TIME }
    const release = await this.#threads.acquire(accountId)
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

  #add(accountId: string, events: number, bytes: number): void {
    for (const counted of [this.#stateOf(accountId), this.#total]) {
      counted.events += events
      counted.bytes += bytes
    }
  }

  #stateOf(accountId: string): AccountUsage {
    const known = this.#accounts.get(accountId) ?? { events: 0, bytes: 0, line: newLine() }
    this.#accounts.set(accountId, known)
    return known
  }

  #forgetIdle(accountId: string): void {
    const account = this.#accounts.get(accountId)
    if (account && account.events === 0 && !account.line.isWaiting(this.#now()))
      this.#accounts.delete(accountId)
  }
}
