import pTimeout from 'p-timeout'

/** Redis normally responds within a millisecond, so a call that takes this long hangs. */
const TIMEOUT_MS = 1000
/** How long a source is not asked after a timeout. */
const PAUSE_MS = 5000

const LATE = Symbol('late')
const pausedUntil = new WeakMap<object, number>()

/**
 * Returns the result of `ask`, or of `fallback` if `ask` fails or takes longer than a second. After a timeout, does not ask `source`
 * for five seconds, so that a source that hangs delays the requests of one second in six, not every request.
 */
export async function withFallback<T>(
  source: object,
  ask: () => Promise<T>,
  fallback: () => Promise<T>,
): Promise<T> {
  if ((pausedUntil.get(source) ?? 0) > performance.now()) return fallback()
  try {
    const answer = await pTimeout(ask(), { milliseconds: TIMEOUT_MS, fallback: (): typeof LATE => LATE })
    if (answer !== LATE) return answer
    pausedUntil.set(source, performance.now() + PAUSE_MS)
  } catch {
    // The owner of the connection reports its errors.
  }
  return fallback()
}
