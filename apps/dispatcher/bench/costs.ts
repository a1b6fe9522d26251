import type { Db } from '@signet/db'
import { cpuMsOf, familyCpuMsOf } from '@signet/testkit'
import { postmasterOf } from '@signet/testkit/bench'
import type { Redis } from 'ioredis'

export type Servers = { postmaster: number; redis: number }

export async function findServers(db: Db, redis: Redis): Promise<Servers> {
  const info = await redis.info('server')
  return {
    postmaster: await postmasterOf(db),
    redis: Number(/process_id:(\d+)/.exec(info)?.[1] ?? 0),
  }
}

/** Totals so far; the difference of two is what a run cost. */
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
      postgres: familyCpuMsOf(postmaster),
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
  // Backends report their counts with a delay, and this connection must not use an old snapshot of them.
  await db.query('select pg_stat_clear_snapshot()')
  const { rows } = await db.query<{ count: string }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.count ?? 0)
}

/** The cost of one of `count` deliveries: CPU time in ms, and numbers of scripts and statements. */
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
