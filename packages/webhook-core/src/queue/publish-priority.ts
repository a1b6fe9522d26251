/** How much of its account's allowance an event uses, which amounts to 200 small events or 12 MiB a second. */
const EVENT_COST_MS = 5
const MEBIBYTE_COST_MS = 80
/** How much an account may publish in one burst before it exceeds its allowance: a second's worth. */
const BURST_MS = 1000
const STEP_MS = 10
/** More excess counts no further, so that an account is in front again this long after it has ended, however long it lasted. */
const MAX_EXCESS_MS = 60_000
const MAX_REMEMBERED = 10_000

export type PublishedEvent = { accountId: string; bytes?: number }

/**
 * Keeps one account's burst from delaying everyone else's events (generic cell rate algorithm). Within its allowance, an account's
 * events go to the front part of the queue, first come, first served. Beyond it, they are still accepted, but queued behind the events
 * of every account that exceeds its allowance by less.
 */
export class PublishPriority {
  /** When each account will have its full allowance again. */
  readonly #usedUntil = new Map<string, number>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** How many accounts are remembered, most of them because they published a moment ago. */
  get remembered(): number {
    return this.#usedUntil.size
  }

  /** Counts an event against its account's allowance and returns the job's priority; 0 comes first. */
  take({ accountId, bytes = 0 }: PublishedEvent): number {
    const now = this.now()
    const costMs = EVENT_COST_MS + (bytes / 2 ** 20) * MEBIBYTE_COST_MS
    const usedUntil = Math.min(
      Math.max(now, this.#usedUntil.get(accountId) ?? 0) + costMs,
      now + BURST_MS + MAX_EXCESS_MS,
    )
    this.#usedUntil.set(accountId, usedUntil)
    if (this.#usedUntil.size > MAX_REMEMBERED) this.#forgetWhole(now)
    const overMs = usedUntil - now - BURST_MS
    return Math.max(0, Math.ceil(overMs / STEP_MS))
  }

  #forgetWhole(now: number): void {
    for (const [accountId, until] of this.#usedUntil) if (until <= now) this.#usedUntil.delete(accountId)
  }
}
