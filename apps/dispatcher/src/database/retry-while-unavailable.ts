import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeadlock, isLockTimeout, isStatementTimeout, isUnavailable } from '@signet/db'

const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 1000

/** Runs database work, and retries it until the database is available. */
export type RetryWhileUnavailable = <T>(work: () => Promise<T>) => Promise<T>

export type RetryWhileUnavailableOptions = {
  /** Ends the retries: the last error is thrown. */
  stop: AbortSignal
  /**
   * Also retries statements that timed out, for instance because a migration holds a lock on their table. Only for work
   * that must not be given up; anything else should fail and run again later, in another batch.
   */
  retryTimeouts?: boolean
  onRetry?: (error: unknown, tries: number) => void
}

/**
 * Retries `work` while the database is unavailable. Our own outage must not use up a customer's attempts, so the job waits
 * in place, keeps its lock, and continues as soon as the database is back. A request that was already sent is not sent
 * again. Nothing new starts, because waiting work soon holds every permit.
 */
export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  { stop, retryTimeouts = false, onRetry }: RetryWhileUnavailableOptions,
): Promise<T> {
  const isTransient = (error: unknown) =>
    isUnavailable(error) ||
    isDeadlock(error) ||
    isLockTimeout(error) ||
    (retryTimeouts && isStatementTimeout(error))
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (stop.aborted || !isTransient(error)) throw error
      onRetry?.(error, tries)
      // Everything that waits for the database listens to it. That is not a leak.
      setMaxListeners(0, stop)
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries - 1, 10), MAX_PAUSE_MS)
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined)
    }
  }
}
