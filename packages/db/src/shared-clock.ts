import { readClockMs } from './database-time.js'
import type { Queryable } from './db.js'

/** Between two readings: how long a process uses what it knew before the database, or the steady clock, jumped. */
export const CLOCK_INTERVAL_MS = 1_000

export type SharedClockOptions = {
  /** Milliseconds of a steady clock, which no change of the system's time moves. */
  steadyMs?: () => number
  /** The system's clock, until the database was asked for the first time. */
  systemMs?: () => number
}

/**
 * The time of the database, as this process knows it. All processes store and compare times by this one clock, so a system whose
 * own is wrong decides nothing: when a retry is due, whether a ban or a session has ended, how old an event is
 * (apps/dispatcher/docs/failures.md#clocks, decision 0257).
 *
 * Between two readings it follows a steady clock. An answer says that the database read its clock between the request and the
 * answer, so the time is moved no further than into that interval: a slow answer cannot make it less exact.
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

  /** Whether the database was asked: until then, this is the clock of the system. */
  get isKnown(): boolean {
    return this.#isRead
  }

  readonly now = (): Date => new Date(this.#steadyMs() + this.#offsetMs)

  /** Asks the database. Call it before anything is decided, and every `CLOCK_INTERVAL_MS` after that. */
  async adjust(): Promise<void> {
    const askedAt = this.#steadyMs()
    const ms = await readClockMs(this.db)
    const answeredAt = this.#steadyMs()
    const [least, most] = [ms - answeredAt, ms - askedAt]
    this.#offsetMs = this.#isRead ? Math.min(most, Math.max(least, this.#offsetMs)) : (least + most) / 2
    this.#isRead = true
  }
}
