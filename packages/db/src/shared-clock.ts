import { readClockMs } from './database-time.js'
import type { Queryable } from './db.js'

/**
 * Time between two readings. After the database's clock or the steady clock jumps, a process uses its old knowledge for up to this
 * long.
 */
export const CLOCK_INTERVAL_MS = 1_000

export type SharedClockOptions = {
  /** Milliseconds of a steady clock, which changes to the system's time do not affect. */
  steadyMs?: () => number
  /** The system's clock, used until the first reading from the database. */
  systemMs?: () => number
}

/**
 * The time of the database, as this process knows it. All processes store and compare times by this one clock, so a machine whose own
 * clock is wrong cannot affect when a retry is due, whether a ban or a session has ended, or how old an event is
 * (apps/dispatcher/docs/failures.md#clocks, decision 0257).
 *
 * Between two readings it follows a steady clock. The database read its clock at some point between the request and the answer, so a
 * reading moves the time only as far as necessary to fit that interval: a slow answer cannot make the time less exact.
 */
export class SharedClock {
  readonly #steadyMs: () => number
  /** Time of the database minus steady time. */
  #offsetMs: number
  #isRead = false

  constructor(
    private readonly db: Queryable,
    { steadyMs = () => performance.now(), systemMs = () => Date.now() }: SharedClockOptions = {},
  ) {
    this.#steadyMs = steadyMs
    this.#offsetMs = systemMs() - steadyMs()
  }

  /** Whether the database has been read. Until then, this is the system's clock. */
  get isKnown(): boolean {
    return this.#isRead
  }

  readonly now = (): Date => new Date(this.#steadyMs() + this.#offsetMs)

  /** Reads the time from the database. Call this before anything depends on the time, and every `CLOCK_INTERVAL_MS` after that. */
  async adjust(): Promise<void> {
    const askedAt = this.#steadyMs()
    const ms = await readClockMs(this.db)
    const answeredAt = this.#steadyMs()
    const [least, most] = [ms - answeredAt, ms - askedAt]
    this.#offsetMs = this.#isRead ? Math.min(most, Math.max(least, this.#offsetMs)) : (least + most) / 2
    this.#isRead = true
  }
}
