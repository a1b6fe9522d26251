import { LRUCache } from 'lru-cache'
import type { Limit, Limiter } from './limit.js'

/** Maximum number of keys; the least recently used are dropped. */
const MAX_KEYS = 50_000

/** For a window: how many were used, and when it ends. For a bucket: when it will be full again. */
type State = { used: number; endsAt: number }

/**
 * Keeps counts in this process. Buckets follow the generic cell rate algorithm, which stores one number per key. A missing key means
 * that nothing was used, so inactive clients take no memory.
 */
export function memoryLimiter(now: () => Date): Limiter {
  // With `max`, the cache would preallocate a megabyte.
  const states = new LRUCache<string, State>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 })

  /** The state after one more use, and how long that use would have to wait. */
  function next(limit: Limit, time: number): { limit: Limit; state: State; waitMs: number } {
    const { key, amount } = limit
    const before = states.get(key)
    if ('everyMs' in limit) {
      const endsAt = Math.max(before?.endsAt ?? 0, time) + limit.everyMs
      return {
        limit,
        state: { used: 0, endsAt },
        waitMs: Math.max(0, endsAt - time - amount * limit.everyMs),
      }
    }
    const { used, endsAt } =
      before && before.endsAt > time ? before : { used: 0, endsAt: time + limit.windowMs }
    return { limit, state: { used: used + 1, endsAt }, waitMs: used < amount ? 0 : endsAt - time }
  }

  return {
    take(all) {
      const time = now().getTime()
      const used = all.map((limit) => next(limit, time))
      const waitMs = Math.max(0, ...used.map((each) => each.waitMs))
      if (waitMs > 0) return Promise.resolve({ waitMs: Math.ceil(waitMs), taken: [] })
      for (const { limit, state } of used) states.set(limit.key, state)
      return Promise.resolve({ waitMs: 0, taken: all })
    },
    putBack(taken) {
      for (const limit of taken) {
        const state = states.get(limit.key)
        if (!state) continue
        const { used, endsAt } = state
        states.set(
          limit.key,
          'everyMs' in limit
            ? { used, endsAt: endsAt - limit.everyMs }
            : { used: Math.max(0, used - 1), endsAt },
        )
      }
      return Promise.resolve()
    },
  }
}
