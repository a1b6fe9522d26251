import { setTimeout as sleep } from 'node:timers/promises'

interface WaitOptions {
  timeoutMs?: number
  intervalMs?: number
  describe: string
  seen?: () => string
}

/**
 * Asks until `find` gives something; fails with `describe` and what `seen` tells about the situation. The default of
 * 150 seconds is not an expectation, only an end to waiting for what never happens: a busy machine takes its time.
 */
export async function waitUntil<T>(
  find: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = 150_000, intervalMs = 20, describe, seen }: WaitOptions,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (performance.now() > deadline) {
      const situation = seen ? `; ${seen()}` : ''
      throw new Error(`waited ${timeoutMs} ms for ${describe}${situation}`)
    }
    await sleep(intervalMs)
  }
}
