import { readdirSync, readFileSync } from 'node:fs'
import type { Db } from '@signet/db'
import type { Redis } from 'ioredis'

const TICK_MS = 10
const PAGE_BYTES = 4096

/** The numbers of /proc/<pid>/stat from field 3 on, or none when the process is gone. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** CPU time of a process so far, in ms; with that of the children it has waited for when asked. */
export function cpuMsOf(pid: number, withReaped = false): number {
  const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = statOf(pid).slice(11, 15).map(Number)
  return (user + system + (withReaped ? reapedUser + reapedSystem : 0)) * TICK_MS
}

/** CPU time of a PostgreSQL server with all its backends so far, in ms. */
export function postgresCpuMsOf(postmaster: number): number {
  const backends = readdirSync('/proc')
    .filter(isPid)
    .map(Number)
    .filter((pid) => parentOf(pid) === postmaster)
  return cpuMsOf(postmaster, true) + backends.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
}

/** Memory of a process now, in MiB. */
export const memoryMibOf = (pid: number): number => (Number(statOf(pid)[21] ?? 0) * PAGE_BYTES) / 1024 / 1024

const parentOf = (pid: number): number => Number(statOf(pid)[1] ?? 0)
const isPid = (name: string) => /^\d+$/.test(name)

export type Servers = { postmaster: number; redis: number }

export async function findServers(db: Db, redis: Redis): Promise<Servers> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  const info = await redis.info('server')
  return {
    postmaster: parentOf(rows[0]?.pid ?? 0),
    redis: Number(/process_id:(\d+)/.exec(info)?.[1] ?? 0),
  }
}

/** What has been spent so far; the difference of two is what a run cost. */
export type Costs = {
  sender: number
  receiver: number
  redis: number
  postgres: number
  scripts: number
  statements: number
}

export type Meter = () => Promise<Costs>

export function createMeter(
  { postmaster, redis: redisPid }: Servers,
  { sender, receiver, redis, db }: { sender: number; receiver: number; redis: Redis; db?: Db },
): Meter {
  return async () => {
    return {
      sender: cpuMsOf(sender),
      receiver: cpuMsOf(receiver),
      redis: cpuMsOf(redisPid),
      postgres: postgresCpuMsOf(postmaster),
      scripts: await scriptCalls(redis),
      statements: db ? await committed(db) : 0,
    }
  }
}

/** BullMQ does everything in Lua scripts, one call each. */
async function scriptCalls(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/cmdstat_evalsha:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  )
}

async function committed(db: Db): Promise<number> {
  // Backends hand in their counts with a delay; this connection's own snapshot must not be an old one.
  await db.query('select pg_stat_clear_snapshot()')
  const { rows } = await db.query<{ count: string }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.count ?? 0)
}

/** What one of `count` deliveries cost: CPU in ms, scripts and statements in pieces. */
export function perDelivery(before: Costs, after: Costs, count: number): Costs {
  const each = (key: keyof Costs) => (after[key] - before[key]) / count
  return {
    sender: each('sender'),
    receiver: each('receiver'),
    redis: each('redis'),
    postgres: each('postgres'),
    scripts: each('scripts'),
    statements: each('statements'),
  }
}
