import { FairQueue } from '@signet/db'

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

/** An admitted delivery should be sent within this time, while the plan it was dispatched with is still fresh. */
const TARGET_MS = 80
/** Period over which the sending rate is measured. */
const RATE_PERIOD_MS = 50

/**
 * Flow control between dispatching and sending: admits events only as fast as their deliveries can be sent, so that a
 * plan is fresh when it is used. The window adapts to the sending rate. Events that are not admitted yet wait here,
 * undispatched; the workers' concurrency bounds how many, and all others stay in the queue for any process to take. A
 * delivery that only waits for its result to be committed does not count.
 */
export class AdmissionWindow {
  #used = 0
  /** Moving average of deliveries per event: what a new event is expected to need. */
  #meanDeliveries = 1
  readonly #queue = new FairQueue<(admission: Admission) => void>()
  #size: number
  readonly #now: () => number
  #rate: { since: number; sent: number }

  constructor(private readonly limits: WindowLimits) {
    this.#now = limits.now ?? (() => performance.now())
    this.#size = limits.min
    this.#rate = { since: this.#now(), sent: 0 }
  }

  /** Accounts take turns. Any free space admits the next event, even one larger than the whole window. */
  admit(accountId: string): Promise<Admission> {
    return new Promise((resolve) => {
      this.#queue.push(accountId, resolve)
      this.#admitWaiting()
    })
  }

  #admitWaiting(): void {
    while (this.#used < this.#size) {
      const next = this.#queue.shift()
      if (!next) return
      next(this.#reserve())
    }
  }

  #reserve(): Admission {
    let weight = this.#meanDeliveries
    this.#used += weight
    return {
      resize: (deliveries) => {
        this.#meanDeliveries = 0.9 * this.#meanDeliveries + 0.1 * deliveries
        this.#used += deliveries - weight
        weight = deliveries
        this.#admitWaiting()
      },
      sent: () => {
        this.#adjustSize()
        if (weight < 1) return
        this.#used -= 1
        weight -= 1
        this.#admitWaiting()
      },
      release: () => {
        this.#used -= weight
        weight = 0
        this.#admitWaiting()
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
