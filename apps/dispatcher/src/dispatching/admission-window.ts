import { LRUCache } from 'lru-cache'
import { AccountBudget } from '../fairness/account-budget.js'

/** One event's share of the window, from before it is dispatched until the last of its deliveries was sent. */
export type Admission = {
  /** Sets how many deliveries the event turned into. */
  resize(deliveries: number): void
  /** One of them was sent, or no longer needs its share. */
  sent(): void
  release(): void
}

export type WindowLimits = {
  /** Smallest window, in deliveries: enough to keep every permit of the process busy. */
  min: number
  max: number
  /** Milliseconds of a steady clock. */
  now?: () => number
}

/** An admitted delivery should be sent within this time, while the snapshot it was dispatched with is still fresh. */
const TARGET_MS = 80
/** Deliveries that an event is expected to need at least: reading one without endpoints takes time as well. */
const MIN_EXPECTED = 0.25
/** What the first events of an account are expected to need. If it is less, others are admitted as soon as they were read. */
const FIRST_EXPECTED = 4
/** Accounts for which the mean is remembered. */
const MAX_REMEMBERED = 10_000
/** Period over which the sending rate is measured. */
const RATE_PERIOD_MS = 50

/**
 * Flow control between dispatching and sending: admits events only as fast as their deliveries can be sent, so that a snapshot is
 * fresh when it is used. The window adapts to the sending rate. Events that are not admitted yet wait here, undispatched; the
 * workers' concurrency bounds how many, and all others stay in the queue for any process to take. A delivery that only waits for its
 * result to be committed does not count. One account has at most three times as much of the window as is free, whatever its receivers
 * do, and more than that only if its last event was larger than what was left. A delivery keeps the part of the window that it had when
 * it was admitted, so others find room even after the window shrinks.
 * The size of bodies does not matter here: large events take more permits (EventLimiter).
 */
export class AdmissionWindow {
  /** In deliveries of the largest window. */
  readonly #budget: AccountBudget
  /** Moving average of deliveries per event of an account: what its next event is expected to need. */
  readonly #meanDeliveries = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  /** In deliveries. */
  #size: number
  readonly #now: () => number
  #rate: { since: number; sent: number }

  constructor(private readonly limits: WindowLimits) {
    this.#now = limits.now ?? (() => performance.now())
    this.#size = limits.min
    this.#budget = new AccountBudget({ size: limits.max, timesFree: 3 })
    this.#rate = { since: this.#now(), sent: 0 }
  }

  /** Any free space admits the next event, even one larger than the whole window. */
  async admit(accountId: string): Promise<Admission> {
    let [deliveries, part] = [0, 0]
    const holding = await this.#budget.acquire(accountId, () => {
      part = this.limits.max / this.#size
      deliveries = Math.max(this.#meanDeliveries.get(accountId) ?? FIRST_EXPECTED, MIN_EXPECTED)
      return deliveries * part
    })
    return {
      resize: (actual) => {
        const mean = this.#meanDeliveries.get(accountId) ?? actual
        this.#meanDeliveries.set(accountId, 0.9 * mean + 0.1 * actual)
        deliveries = actual
        holding.resize(actual * part)
      },
      sent: () => {
        this.#adjustSize()
        if (deliveries < 1) return
        deliveries -= 1
        holding.resize(deliveries * part)
      },
      release: () => {
        deliveries = 0
        holding.release()
      },
    }
  }

  #adjustSize(): void {
    const { min, max } = this.limits
    this.#rate.sent += 1
    const elapsedMs = this.#now() - this.#rate.since
    if (elapsedMs < RATE_PERIOD_MS) return
    const withinTarget = Math.round((this.#rate.sent / elapsedMs) * TARGET_MS)
    this.#size = Math.min(max, Math.max(min, withinTarget))
    this.#rate = { since: this.#now(), sent: 0 }
  }
}
