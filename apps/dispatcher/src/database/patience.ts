import { setTimeout as sleep } from 'node:timers/promises'
import { isDeadlock, isLockTimeout, isUnavailable } from '@signet/db'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

export type PatienceOptions = {
  /** Ends the waiting: the error of the last try is thrown. */
  stop: AbortSignal
  onWait?: (error: unknown, tries: number) => void
}

/**
 * Runs `work` until the database is there for it. An outage of ours spends no try of a delivery (contract F.5): whoever
 * needs the database waits for it where it stands, its job lock renewed meanwhile, and goes on the moment it is back. What
 * was already sent is therefore not sent again, and as all places fill up, nothing new is begun.
 */
export async function withPatience<T>(work: () => Promise<T>, { stop, onWait }: PatienceOptions): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (stop.aborted || !(isUnavailable(error) || isDeadlock(error) || isLockTimeout(error))) throw error
      onWait?.(error, tries)
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries - 1, 10), LONGEST_PAUSE_MS)
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined)
    }
  }
}
