import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'

/**
 * A bucket of `capacity` tokens that gains one every `everyMs`. A fixed window cannot express this, because it resets
 * all at once.
 */
export type BucketShape = { capacity: number; everyMs: number }

/**
 * Takes one token of `key`: 0 when there was one, else the milliseconds until there is. `look` takes none, and `put back`
 * returns one that was taken.
 */
export type TakeToken = (key: string, how?: 'look' | 'put back') => Promise<number>

/** Maximum number of clients in memory; those not seen for longest are dropped. */
const MAX_KEYS = 50_000

/**
 * Both keep one number for a key (the generic cell rate algorithm): the time at which its bucket will be full again.
 * A missing key means a full bucket, so nothing is kept for inactive clients.
 */
export function memoryBucket({ capacity, everyMs }: BucketShape, now: () => Date): TakeToken {
  // With `max` each bucket would preallocate a megabyte.
  const fullAt = new LRUCache<string, number>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 })
  return (key, how) => {
    const time = now().getTime()
    if (how === 'put back') {
      const full = fullAt.get(key)
      if (full !== undefined) fullAt.set(key, full - everyMs)
      return Promise.resolve(0)
    }
    const next = Math.max(fullAt.get(key) ?? 0, time) + everyMs
    const waitMs = next - time - capacity * everyMs
    if (waitMs > 0) return Promise.resolve(Math.ceil(waitMs))
    if (how === 'look') return Promise.resolve(0)
    fullAt.set(key, next)
    return Promise.resolve(0)
  }
}

// Uses Redis time, so that replicas with different clocks agree.
const TAKE = `
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local capacity, every = tonumber(ARGV[1]), tonumber(ARGV[2])
if ARGV[3] == 'put back' then
  local full = redis.call('get', KEYS[1])
  if full then redis.call('set', KEYS[1], string.format('%.3f', tonumber(full) - every), 'KEEPTTL') end
  return 0
end
local next = math.max(tonumber(redis.call('get', KEYS[1]) or '0'), now) + every
local wait = next - now - capacity * every
if wait > 0 then return math.ceil(wait) end
if ARGV[3] == 'look' then return 0 end
redis.call('set', KEYS[1], string.format('%.3f', next), 'PX', math.ceil(next - now))
return 0
`

/** Shared by all processes on the same Redis. Rejects when Redis does not answer. */
export function redisBucket(redis: Redis, prefix: string, { capacity, everyMs }: BucketShape): TakeToken {
  return async (key, how) =>
    Number(await redis.eval(TAKE, 1, `${prefix}:${key}`, capacity, everyMs, how ?? 'take'))
}
