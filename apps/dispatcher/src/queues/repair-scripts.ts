/** The keys of a queue, besides those of its jobs, with the types that BullMQ gives them. */
const KEY_TYPES = {
  wait: 'list',
  paused: 'list',
  active: 'list',
  delayed: 'zset',
  prioritized: 'zset',
  completed: 'zset',
  failed: 'zset',
  'waiting-children': 'zset',
  repeat: 'zset',
  marker: 'zset',
  stalled: 'set',
  meta: 'hash',
  events: 'stream',
  'stalled-check': 'string',
  id: 'string',
  pc: 'string',
  limiter: 'string',
}

export const OWN_KEYS: ReadonlySet<string> = new Set([...Object.keys(KEY_TYPES), 'de'])

// In every script KEYS[1] is the list of active jobs, which also tells a Redis Cluster the slot, and ARGV[1] the prefix of the keys.

const LOCK_OF = `
local base = ARGV[1]
local function lockOf(jobId)
  local key = base .. jobId .. ':lock'
  if redis.call('TYPE', key).ok == 'string' then return redis.call('GET', key) end
end`

const DELETE_JOB = `
local function deleteJob(jobId)
  local key = base .. jobId
  redis.call('DEL', key, key .. ':lock', key .. ':logs', key .. ':dependencies', key .. ':processed', key .. ':failed',
    key .. ':unsuccessful')
end`

/**
 * Deletes keys of the queue that BullMQ cannot work with: those of the wrong type, those that should be numbers and are not, and a
 * 'stalled-check' that never expires, which would prevent all further checks. In 'meta' it deletes limits that would let nothing
 * through; others may be an operator's. If 'meta' has the wrong type, a pause may have been lost, so the queue is paused until
 * `applyPause` decides. Returns the names of the keys.
 */
export const CHECK_KEYS = `
local base, found = ARGV[1], {}
local function isCount(text)
  return #text < 16 and string.match(text, '^%d+$')
end
local types = cjson.decode('${JSON.stringify(KEY_TYPES)}')
for name, expected in pairs(types) do
  local key = base .. name
  local actual = redis.call('TYPE', key).ok
  local isForeign = actual ~= 'none' and actual ~= expected
  if actual == 'string' and expected == 'string' then
    isForeign = not isCount(redis.call('GET', key))
      or (name == 'stalled-check' and redis.call('PTTL', key) < 0)
  end
  if isForeign then
    redis.call('DEL', key)
    if name == 'meta' then redis.call('HSET', key, 'paused', 1) end
    table.insert(found, name)
  end
end
local meta = base .. 'meta'
local removed = 0
for _, field in ipairs({ 'concurrency', 'max', 'duration', 'opts.maxLenEvents' }) do
  local value = redis.call('HGET', meta, field)
  if value and (not isCount(value) or tonumber(value) == 0) then removed = removed + redis.call('HDEL', meta, field) end
end
if removed > 0 then table.insert(found, 'meta') end
return found`

/** Removes the active job with the lock ARGV[2], or the job ARGV[3] if that is active without a lock. Returns its id. */
export const DROP_JOB = `${LOCK_OF}${DELETE_JOB}
for _, jobId in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local lock = lockOf(jobId)
  if lock == ARGV[2] or (jobId == ARGV[3] and not lock) then
    for _, list in ipairs({ 'active', 'wait', 'paused' }) do redis.call('LREM', base .. list, 0, jobId) end
    for _, set in ipairs({ 'delayed', 'prioritized' }) do redis.call('ZREM', base .. set, jobId) end
    redis.call('SREM', base .. 'stalled', jobId)
    deleteJob(jobId)
    return jobId
  end
end
return nil`

/** Deletes locks of active jobs that are not strings: a single one makes BullMQ fail to renew the locks of all jobs. Returns how many. */
export const FREE_LOCKS = `
local freed = 0
for _, jobId in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local key = ARGV[1] .. jobId .. ':lock'
  local type = redis.call('TYPE', key).ok
  if type ~= 'none' and type ~= 'string' then freed = freed + redis.call('DEL', key) end
end
return freed`

const STATE_OF = `
local function isSorted(jobId)
  return redis.call('ZSCORE', base .. 'delayed', jobId) or redis.call('ZSCORE', base .. 'prioritized', jobId)
end
local function stateOf(jobId)
  local key = base .. jobId
  local counts = {}
  if redis.call('TYPE', key).ok == 'hash' then counts = redis.call('HMGET', key, 'ats', 'stc', 'timestamp') end
  return cjson.encode({ counts, lockOf(jobId) or '' })
end`

/**
 * Of the jobs ARGV[2], ARGV[3] and so on, returns those that are in neither sorted set. Each is followed by its state: fields that BullMQ
 * changes whenever it hands out, takes back or replaces a job.
 */
export const FIND_SUSPECTS = `${LOCK_OF}${STATE_OF}
local found = {}
for i = 2, #ARGV do
  if not isSorted(ARGV[i]) then
    table.insert(found, ARGV[i])
    table.insert(found, stateOf(ARGV[i]))
  end
end
return found`

/**
 * Deletes strays. From ARGV[2] on, the arguments are ids, each followed by the state that `FIND_SUSPECTS` returned. The caller has read the
 * lists since then without finding these jobs. If the state is still the same, no job was moved into a list meanwhile, so this does not
 * have to search the lists, which would block Redis while it reads them. Returns how many jobs it kept, because they are locked or have
 * changed, followed by the ids of those it deleted.
 */
export const REMOVE_STRAYS = `${LOCK_OF}${STATE_OF}${DELETE_JOB}
local again, removed = 0, {}
for i = 2, #ARGV, 2 do
  local jobId, state = ARGV[i], ARGV[i + 1]
  if redis.call('EXISTS', base .. jobId) == 1 and not isSorted(jobId) then
    if lockOf(jobId) or stateOf(jobId) ~= state then
      again = again + 1
    else
      deleteJob(jobId)
      table.insert(removed, jobId)
    end
  end
end
table.insert(removed, 1, tostring(again))
return removed`

/**
 * Returns 1 if one of the jobs ARGV[2], ARGV[3] and so on is a stray. Searching the lists is slow, so it does that for one job only, the
 * first that is in neither sorted set and has no lock. It begins at the end from which jobs are taken, where older ones are.
 */
export const HAS_STRAY = `${LOCK_OF}${STATE_OF}
for i = 2, #ARGV do
  local jobId = ARGV[i]
  if redis.call('EXISTS', base .. jobId) == 1 and not lockOf(jobId) and not isSorted(jobId) then
    for _, list in ipairs({ 'active', 'wait', 'paused' }) do
      if redis.call('LPOS', base .. list, jobId, 'RANK', -1) then return 0 end
    end
    return 1
  end
end
return 0`
