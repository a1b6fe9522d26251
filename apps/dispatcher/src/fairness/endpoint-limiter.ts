import { FairQueue } from '@signet/db/fair-queue'
import { AccountShares } from './account-shares.js'
import { DeferralPacer } from './deferral-pacer.js'

export type LimiterOptions = {
  /** Attempts in flight in this process. */
  concurrency: number
  /** Attempts in flight for one endpoint in this process. */
  perEndpoint: number
  /** Milliseconds of a steady clock. */
  now?: () => number
  random?: () => number
}

/** The endpoint and the account of an attempt. */
export type Claim = { endpointId: string; accountId: string }
/** `wasDeferred`: the job of this attempt has been deferred before. */
export type ClaimHistory = { wasDeferred?: boolean }
/** Allows one attempt to be in flight. Releasing it twice is harmless. */
export type Permit = { release(): void }
export type Acquisition = { permit: Permit } | { deferMs: number; reason: DeferReason }
export type DeferReason = 'endpoint_full' | 'slow_endpoints_full' | 'closing'

/** An endpoint whose attempts take longer than this is slow. */
const SLOW_MS = 1000
/** If a permit is expected within this time, the caller waits in the process. */
const LOCAL_WAIT_MS = 500
/**
 * An endpoint that frees a permit this often works through its waiters faster than they could be deferred and come back, which costs
 * each two trips to Redis and a row update. Its callers are never deferred.
 */
const FAST_TURNAROUND_MS = 3
/** Upper bound on the wait in the process. */
const MAX_LOCAL_WAIT_MS = 1000
const MIN_DEFER_MS = 50
const MAX_DEFER_MS = 30_000
/** Longest deferral of a job that was deferred before, however many jobs its endpoint has. */
const MAX_RETRY_WAIT_MS = 5 * 60_000
/** Assumed duration of an attempt until one has been measured. */
const INITIAL_ESTIMATE_MS = 100
/** Idle endpoints to remember. */
const MAX_REMEMBERED = 20_000

type Waiter = { admit: () => void; defer: () => void }
/** Counts toward an endpoint's limit: for an attempt in flight, or a caller that is queued for the process limit. */
type Reservation = {
  endpoint: EndpointState
  /** The endpoint was slow or unmeasured when it was reserved. What happens later changes nothing for other accounts. */
  isCautious: boolean
}
type Caller = { endpoint: EndpointState; wasDeferred: boolean }
type QueuedCaller = {
  reservation: Reservation
  resolve: (acquired: Acquisition) => void
  timer?: NodeJS.Timeout
}

class EndpointState {
  constructor(readonly accountId: string) {}

  /** Permits that are in use or promised: attempts in flight, and callers queued for the process limit. */
  reserved = 0
  /** Start times of the attempts in flight, oldest first. */
  readonly started = new Set<{ at: number }>()
  readonly waiters: Waiter[] = []
  /** Moving average of recent attempts; undefined until one has ended. */
  averageMs: number | undefined
  lastMs = 0
  readonly pacer = new DeferralPacer({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_RETRY_WAIT_MS })
}

/**
 * Keeps one receiver, and one account, from delaying the others. Three rules:
 *
 * 1. At most `perEndpoint` attempts are in flight for one endpoint.
 * 2. At most `concurrency` attempts are in flight, of which one account has at most three times as many as are free. A process
 *    takes more jobs than that: callers that are within their endpoint's limit queue, and accounts take turns.
 * 3. Endpoints that are slow (an attempt in flight, or the last one, took over a second) or not measured yet share half of the
 *    concurrency, of which one account has at most half as many as are free.
 *
 * If receivers of one account hang, however many and even if they were fast until now, others still find permits, even for a
 * new endpoint. A caller over its endpoint's limit waits in the process if a permit is expected soon; otherwise
 * its job is deferred.
 */
export class EndpointLimiter {
  readonly #endpoints = new Map<string, EndpointState>()
  readonly #now: () => number
  readonly #random: () => number
  readonly #inFlight: AccountShares
  readonly #cautious: AccountShares
  readonly #queue = new FairQueue<QueuedCaller>()
  #closed = false

  constructor(private readonly options: LimiterOptions) {
    const { concurrency, now, random } = options
    this.#now = now ?? (() => performance.now())
    this.#random = random ?? Math.random
    this.#inFlight = new AccountShares({ size: concurrency, timesFree: 3 })
    this.#cautious = new AccountShares({ size: Math.max(1, Math.floor(concurrency / 2)), timesFree: 0.5 })
  }

  /** Attempts in flight. */
  get size(): number {
    return this.#inFlight.used
  }

  /** Permits of the process that are neither taken nor waited for. */
  get free(): number {
    return Math.max(0, this.options.concurrency - this.#inFlight.used - this.#queue.size)
  }

  /** How many deferred jobs of an endpoint would get a permit within this time. */
  permitsFor(endpointId: string, { withinMs }: { withinMs: number }): number {
    const endpoint = this.#endpoints.get(endpointId)
    if (this.#closed || !endpoint || !this.#mayReserve(endpoint)) return 0
    if (!this.#inFlight.mayTakeMore(endpoint.accountId)) return 0
    // One attempt shows whether it is still slow.
    if (this.#isCautious(endpoint)) return endpoint.reserved === 0 ? 1 : 0
    const freeNow = this.options.perEndpoint - endpoint.reserved
    const freeSoon = Math.floor(withinMs / this.#turnaroundMs(endpoint))
    return Math.max(0, freeNow + freeSoon - endpoint.waiters.length)
  }

  /** A permit for one attempt, or how long to defer the job. */
  acquire(claim: Claim, { wasDeferred = false }: ClaimHistory = {}): Acquisition | Promise<Acquisition> {
    if (this.#closed) return { deferMs: MIN_DEFER_MS, reason: 'closing' }
    const endpoint = this.#stateOf(claim)
    const caller = { endpoint, wasDeferred }
    if (endpoint.reserved < this.options.perEndpoint) return this.#reserveOrDefer(caller)
    if (!this.#mayReserve(endpoint)) return this.#defer(caller, 'slow_endpoints_full')
    return this.#isSlow(endpoint) || !this.#isPermitExpectedSoon(endpoint)
      ? this.#defer(caller, 'endpoint_full')
      : this.#waitLocally(caller)
  }

  /** Defers all waiting and all later callers. */
  close(): void {
    this.#closed = true
    for (const { waiters } of this.#endpoints.values()) for (const waiter of [...waiters]) waiter.defer()
    for (let caller = this.#queue.shift(); caller !== undefined; caller = this.#queue.shift())
      this.#turnAway(caller, 'closing')
  }

  #stateOf({ endpointId, accountId }: Claim): EndpointState {
    const state = this.#endpoints.get(endpointId) ?? new EndpointState(accountId)
    // Moves it to the end of the map, so that the first entries are the least recently used. An `LRUCache` would also drop an endpoint
    // with attempts in flight, whose count would then start at zero and allow it more of them.
    this.#endpoints.delete(endpointId)
    this.#endpoints.set(endpointId, state)
    if (this.#endpoints.size > MAX_REMEMBERED) this.#forgetIdle()
    return state
  }

  #forgetIdle(): void {
    for (const [id, { reserved, waiters }] of this.#endpoints) {
      if (this.#endpoints.size <= MAX_REMEMBERED) return
      if (reserved === 0 && waiters.length === 0) this.#endpoints.delete(id)
    }
  }

  #isSlow(endpoint: EndpointState): boolean {
    const [oldest] = endpoint.started
    return endpoint.lastMs > SLOW_MS || (oldest !== undefined && this.#now() - oldest.at > SLOW_MS)
  }

  #isPermitExpectedSoon(endpoint: EndpointState): boolean {
    const turnaroundMs = this.#turnaroundMs(endpoint)
    return turnaroundMs <= FAST_TURNAROUND_MS || turnaroundMs * (endpoint.waiters.length + 1) <= LOCAL_WAIT_MS
  }

  #isCautious(endpoint: EndpointState): boolean {
    return endpoint.averageMs === undefined || this.#isSlow(endpoint)
  }

  #mayReserve(endpoint: EndpointState): boolean {
    return !this.#isCautious(endpoint) || this.#cautious.mayTakeMore(endpoint.accountId)
  }

  /** Also called for callers that waited here, because their endpoint may have become slow meanwhile. */
  #reserveOrDefer(caller: Caller): Acquisition | Promise<Acquisition> {
    return this.#mayReserve(caller.endpoint)
      ? this.#reserve(caller.endpoint)
      : this.#defer(caller, 'slow_endpoints_full')
  }

  /** Counts toward the endpoint's limit immediately; the permit follows when the process has one for this account. */
  #reserve(endpoint: EndpointState): Acquisition | Promise<Acquisition> {
    const { accountId } = endpoint
    const reservation = { endpoint, isCautious: this.#isCautious(endpoint) }
    endpoint.reserved += 1
    if (reservation.isCautious) this.#cautious.add(accountId, 1)
    if (this.#inFlight.mayTakeMore(accountId)) return { permit: this.#grant(reservation) }
    return new Promise((resolve) => this.#enqueue({ reservation, resolve }))
  }

  /** The caller may wait for a long time while the process is busy, but not for an endpoint that hangs meanwhile. */
  #enqueue(caller: QueuedCaller): void {
    const { endpoint } = caller.reservation
    this.#queue.push(endpoint.accountId, caller)
    caller.timer = setTimeout(() => {
      if (!this.#isSlow(endpoint)) return void caller.timer?.refresh()
      this.#queue.remove(endpoint.accountId, caller)
      this.#turnAway(caller, 'endpoint_full')
    }, MAX_LOCAL_WAIT_MS).unref()
  }

  #turnAway({ reservation, resolve, timer }: QueuedCaller, reason: DeferReason): void {
    clearTimeout(timer)
    this.#endReservation(reservation)
    resolve(this.#defer({ endpoint: reservation.endpoint, wasDeferred: false }, reason))
  }

  #grant(reservation: Reservation): Permit {
    const { endpoint } = reservation
    const start = { at: this.#now() }
    endpoint.started.add(start)
    this.#inFlight.add(endpoint.accountId, 1)
    return {
      release: () => {
        if (!endpoint.started.delete(start)) return
        const tookMs = this.#now() - start.at
        endpoint.lastMs = tookMs
        endpoint.averageMs = 0.8 * (endpoint.averageMs ?? tookMs) + 0.2 * tookMs
        this.#inFlight.add(endpoint.accountId, -1)
        this.#endReservation(reservation)
        this.#grantNext()
        this.#admitWaiters(endpoint)
      },
    }
  }

  /** Admits the first caller that waits here; or all of them, to be deferred, if their endpoint became slow and may not have more. */
  #admitWaiters(endpoint: EndpointState): void {
    const waiters = this.#mayReserve(endpoint) ? endpoint.waiters.slice(0, 1) : [...endpoint.waiters]
    for (const waiter of waiters) waiter.admit()
  }

  #grantNext(): void {
    for (;;) {
      const next = this.#queue.shift((accountId) => this.#inFlight.mayTakeMore(accountId))
      if (!next) return
      clearTimeout(next.timer)
      next.resolve({ permit: this.#grant(next.reservation) })
    }
  }

  #endReservation({ endpoint, isCautious }: Reservation): void {
    endpoint.reserved -= 1
    if (isCautious) this.#cautious.add(endpoint.accountId, -1)
  }

  /** Average time until this endpoint frees its next permit. */
  #turnaroundMs(endpoint: EndpointState): number {
    return (endpoint.averageMs ?? INITIAL_ESTIMATE_MS) / this.options.perEndpoint
  }

  #waitLocally(caller: Caller): Promise<Acquisition> {
    const { waiters } = caller.endpoint
    return new Promise((resolve) => {
      const settle = (acquire: () => Acquisition | Promise<Acquisition>) => {
        clearTimeout(timer)
        waiters.splice(waiters.indexOf(waiter), 1)
        resolve(acquire())
      }
      const waiter: Waiter = {
        admit: () => settle(() => this.#reserveOrDefer(caller)),
        defer: () => settle(() => this.#defer(caller, this.#closed ? 'closing' : 'endpoint_full')),
      }
      const timer = setTimeout(waiter.defer, MAX_LOCAL_WAIT_MS)
      waiters.push(waiter)
    })
  }

  #defer({ endpoint, wasDeferred }: Caller, reason: DeferReason): Acquisition {
    if (reason === 'closing') return { deferMs: MIN_DEFER_MS, reason }
    const now = this.#now()
    const spacingMs = this.#spacingMs(endpoint)
    const soonMs = Math.min(4 * (endpoint.averageMs ?? INITIAL_ESTIMATE_MS), MAX_DEFER_MS)
    const waitMs = wasDeferred
      ? endpoint.pacer.retryMs(now, spacingMs, soonMs)
      : endpoint.pacer.turnMs(now, spacingMs)
    const jitter = 0.9 + 0.2 * this.#random()
    return { deferMs: Math.round(Math.max(MIN_DEFER_MS, waitMs * jitter)), reason }
  }

  /** Deferred jobs come back as far apart as the endpoint frees permits. */
  #spacingMs(endpoint: EndpointState): number {
    const turnaroundMs = this.#turnaroundMs(endpoint)
    return this.#isSlow(endpoint) ? Math.max(turnaroundMs, SLOW_MS / 8) : turnaroundMs
  }
}
