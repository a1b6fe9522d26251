import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitForOptions {
  /** Default 150 seconds: not an expectation, only an end to waiting for something that never happens, before jest's own. */
  timeoutMs?: number
  /** Default 20 milliseconds. */
  intervalMs?: number
  /** What is being waited for, for the error message. */
  describe?: string
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>

/**
 * Asks again and again until the condition gives something truthy, and returns that. A condition that throws has not
 * been met yet; its last error is the cause of the final one.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 150_000, intervalMs = 20, describe = 'the condition' }: WaitForOptions = {},
): Promise<Truthy<T>> {
  const deadline = performance.now() + timeoutMs
  let lastError: unknown
  do {
    try {
      const value = await condition()
      if (value) return value as Truthy<T>
      lastError = undefined
    } catch (error) {
      lastError = error
    }
    await sleep(intervalMs)
  } while (performance.now() < deadline)
  throw new Error(`waited ${timeoutMs} ms in vain for ${describe}`, { cause: lastError })
}
