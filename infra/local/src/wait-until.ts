import { setTimeout as sleep } from 'node:timers/promises'

interface WaitOptions {
  timeoutMs?: number
  /** Time between two calls. By default 20 ms, and longer if the wait has already taken long. */
  intervalMs?: number
  describe: string
  seen?: () => string
}

const FIRST_INTERVAL_MS = 20
const LAST_INTERVAL_MS = 250
/** Polling interval as a fraction of the time waited so far, so that slow operations are polled less often. */
const INTERVAL_SHARE = 0.05

/**
 * Calls `find` until it returns something. Fails with `describe` and what `seen` says about the situation. The default limit of 150
 * seconds is not an expected duration; it only ends a wait for something that never happens, because a busy machine may take long.
 */
export async function waitUntil<T>(
  find: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = 150_000, intervalMs, describe, seen }: WaitOptions,
): Promise<T> {
  const startedAt = performance.now()
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    const waitedMs = performance.now() - startedAt
    if (waitedMs > timeoutMs) {
      const situation = seen ? `; ${seen()}` : ''
      throw new Error(`waited ${timeoutMs} ms for ${describe}${situation}`)
    }
    await sleep(intervalMs ?? intervalAfter(waitedMs))
  }
}

const intervalAfter = (waitedMs: number): number =>
  Math.min(Math.max(FIRST_INTERVAL_MS, waitedMs * INTERVAL_SHARE), LAST_INTERVAL_MS)
