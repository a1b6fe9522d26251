import { setTimeout as sleep } from 'node:timers/promises'
import { isDeadlock, isLockTimeout, isStatementTimeout, isUnavailable } from '@signet/db'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

export type PatienceOptions = {
  /** Ends the waiting: the error of the last try is thrown. */
  stop: AbortSignal
  /**
   * Begins a statement again that took too long, for instance because a migration holds its table. Only for what must not be
   * given up: anything else is rather tried again later, in other company.
   */
  beyondTimeouts?: boolean
  onWait?: (error: unknown, tries: number) => void
}

/**
 * Runs `work` until the database is there for it. An outage of ours spends no try of a delivery (contract F.5): whoever
 * needs the database waits for it where it stands, its job lock renewed meanwhile, and goes on the moment it is back. What
 * was already sent is therefore not sent again, and as all places fill up, nothing new is begun.
 */
export async function withPatience<T>(
  work: () => Promise<T>,
  { stop, beyondTimeouts = false, onWait }: PatienceOptions,
): Promise<T> {
  const isPassing = (error: unknown) =>
    isUnavailable(error) ||
    isDeadlock(error) ||
    isLockTimeout(error) ||
    (beyondTimeouts && isStatementTimeout(error))
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (stop.aborted || !isPassing(error)) throw error
      onWait?.(error, tries)
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries - 1, 10), LONGEST_PAUSE_MS)
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined)
    }
  }
}
