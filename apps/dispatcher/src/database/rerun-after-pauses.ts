import { isStatementTimeout, type Queryable } from '@signet/db'

const BEAT_MS = 100
/** A process that never stands still for longer than this reads results fast enough. */
const PAUSE_MS = 500

/**
 * Runs statements again that PostgreSQL ended while this process stood still. Their time limit includes the time in which PostgreSQL
 * cannot send more of a large result, because this process does not read it.
 */
export const rerunAfterPauses = (db: Queryable): Queryable => ({
  async query<R extends object>(text: string | { name: string; text: string }, values?: readonly unknown[]) {
    for (;;) {
      const pauses = new Pauses()
      try {
        // oxlint-disable-next-line signet/restricted-outside-stores -- passes on what stores send
        return await db.query<R>(text, values)
      } catch (error) {
        if (!isStatementTimeout(error) || pauses.longestMs() < PAUSE_MS) throw error
      } finally {
        pauses.end()
      }
    }
  },
})

/** Notices when the process runs nothing for a while. */
class Pauses {
  #longestMs = 0
  #seenAt = performance.now()
  readonly #timer = setInterval(() => this.longestMs(), BEAT_MS).unref()

  /** Includes the pause that has just ended, even if the timer could not run since. */
  longestMs(): number {
    const now = performance.now()
    this.#longestMs = Math.max(this.#longestMs, now - this.#seenAt)
    this.#seenAt = now
    return this.#longestMs
  }

  end(): void {
    clearInterval(this.#timer)
  }
}
