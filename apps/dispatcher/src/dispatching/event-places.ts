import { MAX_EVENTS_PER_JOB } from '@signet/webhook-core/queue'
import { AccountShares } from '../fairness/account-shares.js'
import { DeferralLine } from '../fairness/deferral-line.js'

export type EventPlacesOptions = {
  /** Events that the process takes from the queue before it waits for one to end. */
  capacity: number
  /** Milliseconds of a steady clock. */
  now?: () => number
  random?: () => number
}

/** What one event takes of the process, from when it is taken from the queue until it has ended. */
export type EventPlace = {
  /** Sets how large the event turned out to be, in bytes; or says how long to defer it, because there is no room for that. */
  resize(bytes: number): { deferMs: number } | undefined
  /** `hasEnded`: it does not come back. */
  release(hasEnded?: boolean): void
}

/**
 * An account whose events end within this time needs no limit: they make room faster than others could need it. Accounts that are not
 * measured yet are limited, or several slow ones that start together would fill the process.
 */
const SHORT_STAY_MS = 3000
/** An event takes one place, and one more for each of these: while it is prepared and sent there are several copies of it. */
const BYTES_PER_PLACE = 32 * 1024
/** Period over which it is measured how fast events end. */
const PERIOD_MS = 1000
/** Deferred events come back at least this often, however few have ended: attempts end within seconds. */
const MAX_SPACING_MS = 1000
const MIN_DEFER_MS = 250
const MAX_DEFER_MS = 30_000
const MAX_RETRY_MS = 5 * 60_000
/** Accounts to remember while none of their events is here. */
const MAX_REMEMBERED = 10_000
/** Used while nothing ends in the whole process, as during an outage, when there is no rate to measure. */
const STANDSTILL_DEFER_MS = 2000

/** How many places, or events, end in a millisecond. */
class ReleaseRate {
  #before: number
  #released = 0

  constructor(
    private since: number,
    expected: number,
  ) {
    this.#before = expected
  }

  count(amount: number, now: number): void {
    this.#released += amount
    if (now - this.since < PERIOD_MS) return
    this.#before = this.#released / (now - this.since)
    this.since = now
    this.#released = 0
  }

  at(now: number): number {
    const elapsedMs = now - this.since
    // The current period counts as soon as its rate is higher than the rate of the previous one.
    return elapsedMs < PERIOD_MS
      ? Math.max(this.#before, this.#released / PERIOD_MS)
      : this.#released / elapsedMs
  }
}

class AccountState {
  places = 0
  lastRelease: number
  readonly line = new DeferralLine({ maxMs: MAX_DEFER_MS, maxRetryMs: MAX_RETRY_MS })
  readonly rate: ReleaseRate
  /** In events: a large one takes many places. */
  readonly eventRate: ReleaseRate

  constructor(now: number, expectedRate: number) {
    this.lastRelease = now
    this.rate = new ReleaseRate(now, 0)
    this.eventRate = new ReleaseRate(now, expectedRate)
  }

  /** Its measurements are too old to use. */
  isIdle(now: number): boolean {
    return this.places === 0 && now - this.lastRelease > PERIOD_MS && !this.line.isWaiting(now)
  }
}

/**
 * Whose events may be in the process, from when they are taken from the queue until they have ended. The queue is served in order: if
 * an account whose receivers cannot keep up had all places, the events of all others would wait behind its own, at its pace. Events
 * over its share go back into the queue and return when there is room.
 */
export class EventPlaces {
  readonly #forAnyone: number
  /** Assumed rate at which events of an account end, for deferring them until the rate is measured. */
  readonly #expectedRate: number
  /** A larger event counts as this when deciding whether it fits beside others. */
  readonly #largest: number
  readonly #shares: AccountShares
  readonly #accounts = new Map<string, AccountState>()
  readonly #now: () => number
  readonly #random: () => number
  #lastRelease: number

  constructor({ capacity, now, random }: EventPlacesOptions) {
    this.#forAnyone = capacity + MAX_EVENTS_PER_JOB
    this.#expectedRate = capacity / 2 / SHORT_STAY_MS
    this.#largest = capacity / 5
    // Alone an account may have half of the places, and however many share them, they never fill what the process takes.
    this.#shares = new AccountShares({ size: capacity, timesFree: 1 })
    this.#now = now ?? (() => performance.now())
    this.#random = random ?? Math.random
    this.#lastRelease = this.#now()
  }

  /** A place, or how long to defer the event. `wasDeferred`: it was deferred before, so its turn comes before those of newcomers. */
  take(
    accountId: string,
    { bytes = 0, wasDeferred = false }: { bytes?: number; wasDeferred?: boolean } = {},
  ): EventPlace | { deferMs: number } {
    const now = this.#now()
    const state = this.#stateOf(accountId, now)
    const isNext = wasDeferred || !state.line.isWaiting(now)
    const places = placesOf(bytes)
    // Large events stay limited even if they end soon: too many would not fit into memory.
    const needsNoLimit = bytes === 0 && this.#endsSoon(state, now)
    if (needsNoLimit || (isNext && this.#fits(accountId, state, places)))
      return this.#place(accountId, state, places)
    return { deferMs: Math.round(this.#deferMs(state, now, wasDeferred)) }
  }

  #stateOf(accountId: string, now: number): AccountState {
    const known = this.#accounts.get(accountId)
    if (known && !known.isIdle(now)) return known
    const state = new AccountState(now, this.#expectedRate)
    this.#accounts.set(accountId, state)
    if (this.#accounts.size > MAX_REMEMBERED)
      for (const [id, one] of this.#accounts) if (one !== state && one.isIdle(now)) this.#accounts.delete(id)
    return state
  }

  /** Alone, an account may have one event of any size. `taken`: places that the event has already. */
  #fits(accountId: string, state: AccountState, places: number, taken = 0): boolean {
    if (state.places <= taken) return this.#shares.hasRoomFor(accountId) || taken > 0
    if (places === 1) return this.#shares.hasRoomFor(accountId)
    return taken + this.#shares.roomFor(accountId) >= Math.min(places, this.#largest)
  }

  #endsSoon({ places, rate }: AccountState, now: number): boolean {
    return places < rate.at(now) * SHORT_STAY_MS && this.#shares.used < this.#forAnyone
  }

  #deferMs({ line, eventRate }: AccountState, now: number, wasDeferred: boolean): number {
    if (now - this.#lastRelease > PERIOD_MS) return STANDSTILL_DEFER_MS * (1 + this.#random())
    const spacingMs = Math.min(1 / eventRate.at(now), MAX_SPACING_MS)
    return wasDeferred
      ? line.retryMs(now, spacingMs, MIN_DEFER_MS)
      : Math.max(MIN_DEFER_MS, line.turnMs(now, spacingMs))
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
        if (!this.#fits(accountId, state, placesOf(bytes), taken))
          return { deferMs: Math.round(this.#deferMs(state, this.#now(), true)) }
        count(placesOf(bytes))
        return undefined
      },
      release: (hasEnded = true) => {
        if (taken === 0) return
        if (hasEnded) {
          this.#lastRelease = this.#now()
          state.lastRelease = this.#lastRelease
          state.rate.count(taken, this.#lastRelease)
          state.eventRate.count(1, this.#lastRelease)
        }
        count(0)
      },
    }
  }
}

const placesOf = (bytes: number): number => 1 + bytes / BYTES_PER_PLACE
