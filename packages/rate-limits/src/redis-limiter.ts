import type { Cluster, Redis } from 'ioredis'
import type { Limit, Limiter } from './limit.js'

// One script, so that parallel requests cannot both take the last one. Uses the clock of Redis, so that replicas agree. Arguments: for
// each key its amount, the interval of a bucket or 0, and its window or 0.
const TAKE = `
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local function limit(i)
  return tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
end
local function wait(i)
  local amount, every, window = limit(i)
  local value = tonumber(redis.call('get', KEYS[i]) or '0')
  if every > 0 then return math.max(0, math.max(value, now) + every - now - amount * every) end
  if value < amount then return 0 end
  local left = redis.call('pttl', KEYS[i])
  return left > 0 and left or window
end
local function take(i)
  local _, every, window = limit(i)
  if every > 0 then
    local full = math.max(tonumber(redis.call('get', KEYS[i]) or '0'), now) + every
    redis.call('set', KEYS[i], string.format('%.3f', full), 'PX', math.ceil(full - now))
  elseif redis.call('incr', KEYS[i]) == 1 then
    redis.call('pexpire', KEYS[i], window)
  end
end
local longest = 0
for i = 1, #KEYS do longest = math.max(longest, wait(i)) end
if longest > 0 then return math.ceil(longest) end
for i = 1, #KEYS do take(i) end
return 0
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

/** The scripts as commands of a connection, which sends their text only once. */
type Scripts = {
  signetTake(keys: number, ...rest: (string | number)[]): Promise<number>
  signetPutBack(keys: number, ...rest: (string | number)[]): Promise<null>
}

/**
 * A limiter that is shared by all processes on the same Redis. Rejects if Redis does not respond. On a Redis Cluster, a call may take
 * only one key, because all keys of a script must be on one node.
 */
export function redisLimiter(redis: Redis | Cluster, prefix: string): Limiter {
  redis.defineCommand('signetTake', { lua: TAKE })
  redis.defineCommand('signetPutBack', { lua: PUT_BACK })
  const scripts = redis as unknown as Scripts
  const keysOf = (limits: readonly Limit[]) => limits.map(({ key }) => `${prefix}:${key}`)
  return {
    async take(all) {
      const shapes = all.flatMap((limit) => [limit.amount, everyMs(limit), windowMs(limit)])
      const waitMs = await scripts.signetTake(all.length, ...keysOf(all), ...shapes)
      return { waitMs, taken: waitMs > 0 ? [] : all }
    },
    async putBack(taken) {
      if (taken.length === 0) return
      await scripts.signetPutBack(taken.length, ...keysOf(taken), ...taken.map(everyMs))
    },
  }
}

const everyMs = (limit: Limit): number => ('everyMs' in limit ? limit.everyMs : 0)
const windowMs = (limit: Limit): number => ('windowMs' in limit ? limit.windowMs : 0)
