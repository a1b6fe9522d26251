import { waitUntil } from '@signet/local'

export interface WaitForOptions {
  /** Default 150 seconds, below jest's own limit: not an expectation, only an end to waiting for what never happens. */
  timeoutMs?: number
  /** By default, 20 milliseconds at first, growing with the wait. */
  intervalMs?: number
  /** What is being waited for, for the error message. */
  describe?: string
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>

/**
 * Evaluates the condition until it gives something truthy, and returns that. A condition that throws has not been met yet;
 * its last error becomes the cause of the final one.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { describe = 'the condition', ...options }: WaitForOptions = {},
): Promise<Truthy<T>> {
  let cause: unknown
  const find = async () => {
    try {
      const value = await condition()
      cause = undefined
      return (value || undefined) as Truthy<T> | undefined
    } catch (error) {
      cause = error
      return undefined
    }
  }
  return waitUntil<Truthy<T>>(find, { ...options, describe }).catch((error: Error) => {
    throw new Error(error.message, { cause })
  })
}
