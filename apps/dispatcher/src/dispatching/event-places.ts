import { FairQueue } from '@signet/db/fair-queue'
import { MAX_EVENTS_PER_JOB } from '@signet/webhook-core/queue'
import { LRUCache } from 'lru-cache'
import { AccountShares } from '../fairness/account-shares.js'
import { DeferralLine } from '../fairness/deferral-line.js'

export type EventPlacesOptions = {
  /** Events that the process takes from the queue before it waits for one to end. */
  capacity: number
  /** How long events over their account's share wait for it to be measured. */
  measuringMs?: number
  random?: () => number
}

type Deferral = { deferMs: number }
type Taken = EventPlace | Deferral

/** What one event takes of the process, from when it is taken from the queue until it has ended. */
export type EventPlace = {
  /** Sets how large the event turned out to be, in bytes; or says how long to defer it, because there is no room for that. */
  resize(bytes: number): Deferral | undefined
  /** `hasEnded`: it does not come back. */
  release(hasEnded?: boolean): void
}

/** An account whose events end within this time needs no limit: they make room faster than others could need it. */
const SHORT_STAY_MS = 3000
/**
 * Events over their account's share wait here for this long at most, until enough others have ended to show that the account needs no
 * limit. How fast they ended before says nothing: there were not enough. Deferred at once, a burst to fast receivers would come back
 * at the pace of slow ones. While they wait, the process may take no other events, so an account that turned out to be slow does not
 * get this time again soon.
 */
const MEASURING_MS = 500
const REMEMBER_SLOW_MS = 60_000
/** An event takes one place, and one more for each of these: while it is prepared and sent there are several copies of it. */
const BYTES_PER_PLACE = 32 * 1024
/** Period over which it is measured how fast events end. */
const PERIOD_MS = 1000
/** Deferred events come back at least this often, however few have ended: attempts end within seconds. */
const MAX_SPACING_MS = 1000
const MIN_DEFER_MS = 250
/** By then it is known whether the account is slow, and how slow. */
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
  places = 0
  lastEnd = now()
  readonly rate = new EndRate()
  readonly line = new DeferralLine({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_RETRY_MS })

  /** Its measurements are too old to use. */
  isIdle(): boolean {
    return this.places === 0 && now() - this.lastEnd > PERIOD_MS && !this.line.isWaiting(now())
  }
}

type Waiter = { admit: () => void; defer: () => void }

/**
 * Whose events may be in the process, from when they are taken from the queue until they have ended. The queue is served in order: if
 * an account whose receivers cannot keep up had all places, the events of all others would wait behind its own, at its pace. Events
 * over its share go back into the queue and return when there is room.
 */
export class EventPlaces {
  readonly #forAnyone: number
  /** At this rate the events of an account that has its share end soon. */
  readonly #fastRate: number
  /** A larger event counts as this when deciding whether it fits beside others. */
  readonly #largest: number
  readonly #shares: AccountShares
  readonly #accounts = new Map<string, AccountState>()
  /** Until they are found to be fast, or are within their shares for a while. */
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

  constructor({ capacity, measuringMs = MEASURING_MS, random = Math.random }: EventPlacesOptions) {
    this.#forAnyone = capacity + MAX_EVENTS_PER_JOB
    this.#fastRate = capacity / 2 / SHORT_STAY_MS
    this.#largest = capacity / 5
    // Alone an account may have half of the places, and however many share them, they never fill what the process takes.
    this.#shares = new AccountShares({ size: capacity, timesFree: 1 })
    this.#measuringMs = measuringMs
    this.#random = random
  }

  /** A place, or how long to defer the event. `wasDeferred`: it was deferred before, so its turn comes before those of newcomers. */
  take(
    accountId: string,
    { bytes = 0, wasDeferred = false }: { bytes?: number; wasDeferred?: boolean } = {},
  ): Taken | Promise<Taken> {
    const state = this.#stateOf(accountId)
    const isNext = wasDeferred || !state.line.isWaiting(now())
    const places = placesOf(bytes)
    // Large events stay limited even if they end soon: too many would not fit into memory.
    if (bytes > 0)
      return isNext && this.#fits(accountId, state, places)
        ? this.#place(accountId, state, places)
        : this.#defer(state, wasDeferred)
    if (this.#endsSoon(state) || (isNext && this.#fits(accountId, state, places)))
      return this.#place(accountId, state, places)
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

  /** Alone, an account may have one event of any size. `taken`: places that the event has already. */
  #fits(accountId: string, state: AccountState, places: number, taken = 0): boolean {
    if (state.places <= taken) return this.#shares.hasRoomFor(accountId) || taken > 0
    if (places === 1) return this.#shares.hasRoomFor(accountId)
    return taken + this.#shares.roomFor(accountId) >= Math.min(places, this.#largest)
  }

  #endsSoon({ places, rate }: AccountState): boolean {
    return places < rate.get() * SHORT_STAY_MS && this.#shares.used < this.#forAnyone
  }

  #wait(accountId: string, wasDeferred: boolean): Promise<Taken> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(accountId), this.#measuringMs)
      const settle = (taken: Taken) => {
        clearTimeout(timer)
        resolve(taken)
      }
      this.#waiting.push(accountId, {
        admit: () => settle(this.#place(accountId, this.#stateOf(accountId), 1)),
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
    // Without a place it waited for others.
    if (this.#stateOf(accountId).places > 0) this.#slow.set(accountId, true)
    const isOfIt = (id: string) => id === accountId
    for (let next = this.#waiting.shift(isOfIt); next; next = this.#waiting.shift(isOfIt)) next.defer()
  }

  #defer({ line, rate }: AccountState, wasDeferred: boolean): Deferral {
    if (now() - this.#lastEnd > PERIOD_MS)
      return { deferMs: Math.round(STANDSTILL_DEFER_MS * (1 + this.#random())) }
    const spacingMs = Math.min(1 / rate.get({ assumed: this.#fastRate }), MAX_SPACING_MS)
    const waitMs = wasDeferred
      ? line.retryMs(now(), spacingMs, MIN_DEFER_MS)
      : Math.max(MIN_DEFER_MS, line.turnMs(now(), spacingMs))
    return { deferMs: Math.round(waitMs) }
  }

  #place(accountId: string, state: AccountState, places: number): EventPlace {
    let taken = 0
    const count = (wanted: number) => {
      // An event may be larger than all places together. Counted in full, it would keep all others out.
      const places = Math.min(wanted, Math.max(1, taken + this.#shares.roomFor(accountId)))
      state.places += places - taken
      this.#shares.add(accountId, places - taken)
      taken = places
    }
    count(places)
    return {
      resize: (bytes) => {
        if (!this.#fits(accountId, state, placesOf(bytes), taken)) return this.#defer(state, true)
        count(placesOf(bytes))
        return undefined
      },
      release: (hasEnded = true) => {
        if (taken === 0) return
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

const placesOf = (bytes: number): number => 1 + bytes / BYTES_PER_PLACE
