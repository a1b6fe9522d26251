const INTERVAL_MS = 60_000
/**
 * Messages are forgotten beyond this number. One outage causes only a few, so more of them must contain something that differs each
 * time.
 */
const MAX_MESSAGES = 20

/** The part of a logger that this needs. Not its type, because the logger itself uses repeated warnings. */
type Log = { warn(message: string, fields: Readonly<Record<string, unknown>>): void }

type Seen = { loggedAt: number; unlogged: number }

/**
 * A warning that may occur many times a second during an outage. Each error message is logged when it is new, and then at most once a
 * minute, with `repeats` for how often it has occurred since. Messages that differ only in milliseconds count as the same.
 */
export class RepeatedWarning {
  readonly #seen = new Map<string, Seen>()

  constructor(
    private readonly log: Log,
    private readonly text: string,
    private readonly now: () => Date = () => new Date(),
  ) {}

  warn(error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
    const message = error instanceof Error ? error.message : String(error)
    const now = this.now().getTime()
    // Each message of ioredis says how long it waits, and it waits longer each time.
    const key = message.replaceAll(/\d+ms\b/g, '')
    const seen = this.#seen.get(key)
    if (seen && now < seen.loggedAt + INTERVAL_MS) {
      seen.unlogged += 1
      return
    }
    if (this.#seen.size >= MAX_MESSAGES) this.#seen.clear()
    this.#seen.set(key, { loggedAt: now, unlogged: 0 })
    const name = error instanceof Error ? error.name : typeof error
    this.log.warn(this.text, {
      ...fields,
      error_name: name,
      error_message: message,
      ...(seen && seen.unlogged > 0 && { repeats: seen.unlogged }),
    })
  }

  /** The outage has ended: the next warning is new. */
  reset(): void {
    this.#seen.clear()
  }
}
