import { setTimeout as sleep } from 'node:timers/promises'

/** A statement's answer for an item whose row someone has locked. */
export const LOCKED = Symbol('locked')

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1000

/**
 * Repeats work while the row that it needs is locked. The statements leave out such rows and wait for none, so only this work waits, and
 * without a connection.
 */
export async function untilUnlocked<T>(work: () => Promise<T | typeof LOCKED>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const result = await work()
    if (result !== LOCKED) return result
    await sleep(Math.min(FIRST_PAUSE_MS * tries, MAX_PAUSE_MS))
  }
}
