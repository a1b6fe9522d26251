/** Redis answers within a millisecond; what takes this long is hanging. */
const PATIENCE_MS = 1000
/** How long a hanging one is left alone. */
const PAUSE_MS = 5000

const LATE = Symbol('late')
const pausedUntil = new WeakMap<object, number>()

/**
 * What `ask` gives, or `fallback` when that takes longer than a second. After that nobody asks for five seconds, so a
 * `source` that hangs costs one request in five seconds a second, and not every request.
 */
export async function quicklyOrElse<T>(
  source: object,
  ask: () => Promise<T>,
  fallback: () => Promise<T>,
): Promise<T> {
  if ((pausedUntil.get(source) ?? 0) > performance.now()) return fallback()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), PATIENCE_MS)
  })
  try {
    const answer = await Promise.race([ask(), late])
    if (answer !== LATE) return answer
  } finally {
    clearTimeout(timer)
  }
  pausedUntil.set(source, performance.now() + PAUSE_MS)
  return fallback()
}
