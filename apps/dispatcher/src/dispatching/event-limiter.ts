import { FairQueue } from '@signet/db/fair-queue'
import { MAX_EVENTS_PER_JOB } from '@signet/webhook-core/queue'
import { LRUCache } from 'lru-cache'
import { AccountShares } from '../fairness/account-shares.js'
import { DeferralPacer } from '../fairness/deferral-pacer.js'

export type EventLimiterOptions = {
  /** Events that the process takes from the queue before it waits for one to end. */
  capacity: number
  /** How long events over their account's share wait for it to be measured. */
  measuringMs?: number
  random?: () => number
}

type Deferral = { deferMs: number }
type Acquisition = EventPermit | Deferral

/** Allows one event to be in the process, from when it is taken from the queue until it has ended. */
export type EventPermit = {
  /** Sets how large the event turned out to be, in bytes; or says how long to defer it, because there is no room for that. */
  resize(bytes: number): Deferral | undefined
  /** `hasEnded`: the event does not come back. */
  release(hasEnded?: boolean): void
}

/** An account whose events stay no longer than this needs no limit: they release permits faster than others could need them. */
const SHORT_SOJOURN_MS = 3000
/**
 * Events over their account's share wait here for this long at most, until enough others have ended to show that the account needs no
 * limit. How fast they ended before says nothing: there were not enough. Deferred at once, a burst to fast receivers would come back
 * at the pace of slow ones. While they wait, the process may take no other events, so an account that turned out to be slow does not
 * get this time again soon.
 */
const MEASURING_MS = 500
const REMEMBER_SLOW_MS = 60_000
/** An event takes one permit, and one more for each of these: while it is prepared and sent there are several copies of it. */
const BYTES_PER_PERMIT = 32 * 1024
/** Period over which it is measured how fast events end. */
const PERIOD_MS = 1000
/** Deferred events come back at least this often, however few have ended: attempts end within seconds. */
const MAX_SPACING_MS = 1000
const MIN_DEFER_MS = 250
/** By then, the limiter knows whether the account is slow, and how slow. */
const MAX_DEFER_MS = 10_000
const MAX_RETRY_MS = 5 * 60_000
/** Accounts to remember while none of their events is here. */
const MAX_REMEMBERED = 10_000
/** Used while nothing ends in the whole process, as during an outage, when there is no rate to measure. */
const STANDSTILL_DEFER_MS = 2000

const now = (): number => performance.now()

/** How many events of an account end in a millisecond. */
class EndRate {
  #before: number | undefined
  #ended = 0
  #since = now()

  count(): void {
    this.#ended += 1
    const elapsedMs = now() - this.#since
    if (elapsedMs < PERIOD_MS) return
    this.#before = this.#ended / elapsedMs
    this.#since = now()
    this.#ended = 0
  }

  /** `assumed` until it is measured. */
  get({ assumed = 0 } = {}): number {
    const elapsedMs = now() - this.#since
    // The current period counts as soon as its rate is higher than the rate of the previous one.
    return elapsedMs < PERIOD_MS
      ? Math.max(this.#before ?? assumed, this.#ended / Math.max(elapsedMs, MEASURING_MS))
      : this.#ended / elapsedMs
  }
}

class AccountState {
  permits = 0
  lastEnd = now()
  readonly rate = new EndRate()
  readonly pacer = new DeferralPacer({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_RETRY_MS })

  /** Its measurements are too old to use. */
  isIdle(): boolean {
    return this.permits === 0 && now() - this.lastEnd > PERIOD_MS && !this.pacer.isWaiting(now())
  }
}

type Waiter = { admit: () => void; defer: () => void }

/**
 * Decides whose events may be in the process, from when they are taken from the queue until they have ended. The queue is served in
 * order: if an account whose receivers cannot keep up had all permits, the events of all others would wait behind its own, at its pace.
 * Events over its share go back into the queue and return when there is room.
 */
export class EventLimiter {
  readonly #forAnyone: number
  /** At this rate, the events of an account that uses all of its share end soon. */
  readonly #fastRate: number
  /** A larger event counts as this when deciding whether it fits beside others. */
  readonly #largest: number
  readonly #shares: AccountShares
  readonly #accounts = new Map<string, AccountState>()
  /** Slow accounts, until they are found to be fast, or stay within their shares for a while. */
  readonly #slow = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: REMEMBER_SLOW_MS,
    updateAgeOnHas: true,
    perf: { now },
  })
  readonly #waiting = new FairQueue<Waiter>()
  readonly #measuringMs: number
  readonly #random: () => number
  #lastEnd = now()

  constructor({ capacity, measuringMs = MEASURING_MS, random = Math.random }: EventLimiterOptions) {
    this.#forAnyone = capacity + MAX_EVENTS_PER_JOB
    this.#fastRate = capacity / 2 / SHORT_SOJOURN_MS
    this.#largest = capacity / 5
    // An account alone may have half of the permits, and any number of accounts together never use all that the process takes.
    this.#shares = new AccountShares({ size: capacity, timesFree: 1 })
    this.#measuringMs = measuringMs
    this.#random = random
  }

  /** A permit, or how long to defer the event. `wasDeferred`: it was deferred before, so its turn comes before those of newcomers. */
  acquire(
    accountId: string,
    { bytes = 0, wasDeferred = false }: { bytes?: number; wasDeferred?: boolean } = {},
  ): Acquisition | Promise<Acquisition> {
    const state = this.#stateOf(accountId)
    const isNext = wasDeferred || !state.pacer.isWaiting(now())
    const permits = permitsFor(bytes)
    // Large events stay limited even if they end soon: too many would not fit into memory.
    if (bytes > 0)
      return isNext && this.#fits(accountId, state, permits)
        ? this.#grant(accountId, state, permits)
        : this.#defer(state, wasDeferred)
    if (this.#endsSoon(state) || (isNext && this.#fits(accountId, state, permits)))
      return this.#grant(accountId, state, permits)
    return this.#slow.has(accountId) ? this.#defer(state, wasDeferred) : this.#wait(accountId, wasDeferred)
  }

  #stateOf(accountId: string): AccountState {
    const known = this.#accounts.get(accountId)
    if (known && !known.isIdle()) return known
    const state = new AccountState()
    this.#accounts.set(accountId, state)
    if (this.#accounts.size > MAX_REMEMBERED)
      for (const [id, one] of this.#accounts) if (one !== state && one.isIdle()) this.#accounts.delete(id)
    return state
  }

  /** Alone, an account may have one event of any size. `held`: permits that the event has already. */
  #fits(accountId: string, state: AccountState, permits: number, held = 0): boolean {
    if (state.permits <= held) return this.#shares.mayTakeMore(accountId) || held > 0
    if (permits === 1) return this.#shares.mayTakeMore(accountId)
    return held + this.#shares.availableTo(accountId) >= Math.min(permits, this.#largest)
  }

  #endsSoon({ permits, rate }: AccountState): boolean {
    return permits < rate.get() * SHORT_SOJOURN_MS && this.#shares.used < this.#forAnyone
  }

  #wait(accountId: string, wasDeferred: boolean): Promise<Acquisition> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(accountId), this.#measuringMs)
      const settle = (acquired: Acquisition) => {
        clearTimeout(timer)
        resolve(acquired)
      }
      this.#waiting.push(accountId, {
        admit: () => settle(this.#grant(accountId, this.#stateOf(accountId), 1)),
        defer: () => settle(this.#defer(this.#stateOf(accountId), wasDeferred)),
      })
    })
  }

  #admitWaiting(): void {
    const mayHaveOne = (accountId: string) => {
      const state = this.#stateOf(accountId)
      return this.#endsSoon(state) || this.#fits(accountId, state, 1)
    }
    for (let next = this.#waiting.shift(mayHaveOne); next; next = this.#waiting.shift(mayHaveOne))
      next.admit()
  }

  #giveUp(accountId: string): void {
    // An account without a permit only waited for others, which says nothing about its own events.
    if (this.#stateOf(accountId).permits > 0) this.#slow.set(accountId, true)
    const isOfIt = (id: string) => id === accountId
    for (let next = this.#waiting.shift(isOfIt); next; next = this.#waiting.shift(isOfIt)) next.defer()
  }

  #defer({ pacer, rate }: AccountState, wasDeferred: boolean): Deferral {
    if (now() - this.#lastEnd > PERIOD_MS)
      return { deferMs: Math.round(STANDSTILL_DEFER_MS * (1 + this.#random())) }
    const spacingMs = Math.min(1 / rate.get({ assumed: this.#fastRate }), MAX_SPACING_MS)
    const waitMs = wasDeferred
      ? pacer.retryMs(now(), spacingMs, MIN_DEFER_MS)
      : Math.max(MIN_DEFER_MS, pacer.turnMs(now(), spacingMs))
    return { deferMs: Math.round(waitMs) }
  }

  #grant(accountId: string, state: AccountState, permits: number): EventPermit {
    let held = 0
    const count = (wanted: number) => {
      // An event may be larger than all permits together. Counted in full, it would keep all others out.
      const permits = Math.min(wanted, Math.max(1, held + this.#shares.availableTo(accountId)))
      state.permits += permits - held
      this.#shares.add(accountId, permits - held)
      held = permits
    }
    count(permits)
    return {
      resize: (bytes) => {
        if (!this.#fits(accountId, state, permitsFor(bytes), held)) return this.#defer(state, true)
        count(permitsFor(bytes))
        return undefined
      },
      release: (hasEnded = true) => {
        if (held === 0) return
        if (hasEnded) this.#ended(accountId, state)
        count(0)
        this.#admitWaiting()
      },
    }
  }

  #ended(accountId: string, state: AccountState): void {
    this.#lastEnd = now()
    state.lastEnd = this.#lastEnd
    state.rate.count()
    if (state.rate.get() >= this.#fastRate) this.#slow.delete(accountId)
  }
}

const permitsFor = (bytes: number): number => 1 + bytes / BYTES_PER_PERMIT
