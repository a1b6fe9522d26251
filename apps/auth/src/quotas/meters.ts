import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'

/** A quota: `amount` an hour, or a bucket of `amount` that gains one every `everyMs`. */
export type Meter = { key: string; amount: number; everyMs: number | undefined }

/** `waitMs` is 0 when there was enough, else the time until there may be. */
export type Taken = { waitMs: number; taken: readonly Meter[] }

export type Meters = {
  /**
   * Takes one from each of `all` and one from the first of `pools` that has one left. Takes nothing when any of `all`, or
   * every pool, is used up.
   */
  take(all: readonly Meter[], pools: readonly Meter[]): Promise<Taken>
  putBack(taken: readonly Meter[]): Promise<void>
}

export const HOUR_MS = 3_600_000
/** Maximum number of meters in memory; the least recently used are dropped. */
const MAX_METERS = 50_000

/** The current hour and how many were used; for a bucket, the time at which it will be full again. */
type State = { used: number; endsAt: number }

function memoryMeters(now: () => Date): Meters {
  // With `max` the cache would preallocate a megabyte.
  const states = new LRUCache<string, State>({ maxSize: MAX_METERS, sizeCalculation: () => 1 })

  /** The state after one more, and how long that would have to wait. */
  function next({ key, amount, everyMs }: Meter, time: number): { state: State; waitMs: number } {
    const before = states.get(key)
    if (everyMs !== undefined) {
      const endsAt = Math.max(before?.endsAt ?? 0, time) + everyMs
      return { state: { used: 0, endsAt }, waitMs: Math.max(0, endsAt - time - amount * everyMs) }
    }
    const { used, endsAt } = before && before.endsAt > time ? before : { used: 0, endsAt: time + HOUR_MS }
    return { state: { used: used + 1, endsAt }, waitMs: used < amount ? 0 : endsAt - time }
  }

  return {
    take(all, pools) {
      const time = now().getTime()
      const due = all.map((meter) => ({ meter, ...next(meter, time) }))
      const choices = pools.map((meter) => ({ meter, ...next(meter, time) }))
      const chosen = choices.find(({ waitMs }) => waitMs === 0)
      const waitMs = Math.max(
        0,
        ...due.map((each) => each.waitMs),
        chosen || choices.length === 0 ? 0 : Math.min(...choices.map((each) => each.waitMs)),
      )
      if (waitMs > 0) return Promise.resolve({ waitMs: Math.ceil(waitMs), taken: [] })
      const used = chosen ? [...due, chosen] : due
      for (const { meter, state } of used) states.set(meter.key, state)
      return Promise.resolve({ waitMs: 0, taken: used.map(({ meter }) => meter) })
    },
    putBack(taken) {
      for (const { key, everyMs } of taken) {
        const state = states.get(key)
        if (!state) continue
        const { used, endsAt } = state
        states.set(
          key,
          everyMs === undefined
            ? { used: Math.max(0, used - 1), endsAt }
            : { used, endsAt: endsAt - everyMs },
        )
      }
      return Promise.resolve()
    },
  }
}

// One script, so that parallel requests cannot take the same last unit. Uses Redis time, so that replicas with
// different clocks agree. Arguments: how many keys are of `all`, then amount and pace of each key (0: an hour's
// window).
const TAKE = `
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local function wait(i)
  local amount, every = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local value = tonumber(redis.call('get', KEYS[i]) or '0')
  if every > 0 then return math.max(0, math.max(value, now) + every - now - amount * every) end
  if value < amount then return 0 end
  local left = redis.call('pttl', KEYS[i])
  return left > 0 and left or ${HOUR_MS}
end
local function take(i)
  local every = tonumber(ARGV[2 * i + 1])
  if every > 0 then
    local next = math.max(tonumber(redis.call('get', KEYS[i]) or '0'), now) + every
    redis.call('set', KEYS[i], string.format('%.3f', next), 'PX', math.ceil(next - now))
  elseif redis.call('incr', KEYS[i]) == 1 then
    redis.call('pexpire', KEYS[i], ${HOUR_MS})
  end
end
local all, longest = tonumber(ARGV[1]), 0
for i = 1, all do longest = math.max(longest, wait(i)) end
local chosen, shortest = 0, nil
for i = all + 1, #KEYS do
  local ms = wait(i)
  if ms == 0 then chosen = i break end
  shortest = math.min(shortest or ms, ms)
end
if chosen == 0 and shortest then longest = math.max(longest, shortest) end
if longest > 0 then return {math.ceil(longest), 0} end
for i = 1, all do take(i) end
if chosen > 0 then take(chosen) end
return {0, chosen}
`
const PUT_BACK = `
for i = 1, #KEYS do
  local every = tonumber(ARGV[i])
  local value = tonumber(redis.call('get', KEYS[i]) or '0')
  if every > 0 then
    if value > 0 then redis.call('set', KEYS[i], string.format('%.3f', value - every), 'KEEPTTL') end
  elseif value > 0 then
    redis.call('decr', KEYS[i])
  end
end
`

/** Shared by all processes on the same Redis. Rejects when Redis does not answer. */
function redisMeters(redis: Redis, prefix: string): Meters {
  const keysOf = (meters: readonly Meter[]) => meters.map(({ key }) => `${prefix}:${key}`)
  return {
    async take(all, pools) {
      const meters = [...all, ...pools]
      const shapes = meters.flatMap(({ amount, everyMs = 0 }) => [amount, everyMs])
      const answer = await redis.eval(TAKE, meters.length, ...keysOf(meters), all.length, ...shapes)
      const [waitMs = 0, chosen = 0] = answer as number[]
      if (waitMs > 0) return { waitMs, taken: [] }
      return { waitMs, taken: meters.filter((_, index) => index < all.length || index === chosen - 1) }
    },
    async putBack(taken) {
      if (taken.length === 0) return
      const paces = taken.map(({ everyMs = 0 }) => everyMs)
      await redis.eval(PUT_BACK, taken.length, ...keysOf(taken), ...paces)
    },
  }
}

/**
 * Shared by replicas in Redis. While it does not answer, each process counts on its own: less exact quotas, but no
 * outage.
 */
export function createMeters(redis: Redis | undefined, now: () => Date): Meters {
  const own = memoryMeters(now)
  if (!redis) return own
  const shared = redisMeters(redis, 'auth-quota')
  return {
    take: (all, pools) => shared.take(all, pools).catch(() => own.take(all, pools)),
    putBack: (taken) => shared.putBack(taken).catch(() => own.putBack(taken)),
  }
}
