import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 20

/** Asks until `find` gives something; fails with `describe` and what `seen` tells about the situation. */
export async function waitUntil<T>(
  find: () => T | undefined | Promise<T | undefined>,
  options: { timeoutMs: number; describe: string; seen?: () => string },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (performance.now() > deadline) {
      const seen = options.seen ? `; ${options.seen()}` : ''
      throw new Error(`no ${options.describe} within ${options.timeoutMs / 1000} s${seen}`)
    }
    await sleep(POLL_MS)
  }
}
