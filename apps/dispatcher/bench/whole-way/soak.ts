// `npm run bench -- soak [minutes=30] [per-second=<rate>] [scale=1]`: steady load for a long time, after which nothing may have
// grown but the rows that are kept. The rate is 0.6 of what a burst reaches, unless given. One JSON line for each minute, and
// one for each quantity: its mean in the last quarter of the run against that in the second quarter (the first warms up).
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Db } from '@signet/db'
import { Redis } from 'ioredis'
import { atMost, option, reporter } from '@signet/testkit/bench'
import { Stage, type OwnContender } from './stage.js'

const report = reporter('soak')
const BYTES = 2048
const BURST_EVENTS = 4000
const LOAD = 0.6
const MOST_GROWTH = 1.1

const minutes = Number(option('minutes') ?? 30)
const scale = Number(option('scale') ?? 1)
const databaseUrl = process.env['DATABASE_URL'] ?? ''
const redisUrl = process.env['REDIS_URL'] ?? ''

/** Quantities that must not grow. */
type Sample = Readonly<Record<string, number>>

const UNITS: Readonly<Record<string, string>> = {
  'memory of webhooks': 'MiB',
  'memory of dispatcher': 'MiB',
  'handles of webhooks': 'handles',
  'handles of dispatcher': 'handles',
  'Redis keys': 'keys',
  'Redis memory': 'MiB',
  'database for each event': 'bytes',
  'dead rows for each live row': 'rows',
}

const handlesOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length

async function sizeOf(db: Db): Promise<number> {
  const { rows } = await db.query<{ bytes: string }>(
    'select pg_database_size(current_database())::text as bytes',
  )
  return Number(rows[0]?.bytes)
}

async function deadRowShare(db: Db): Promise<number> {
  const { rows } = await db.query<{ share: number }>(
    `select (sum(n_dead_tup) / greatest(sum(n_live_tup), 1))::float8 as share from pg_stat_user_tables`,
  )
  return rows[0]?.share ?? NaN
}

async function takeSample(
  system: OwnContender,
  { db, redis }: { db: Db; redis: Redis },
  { events, emptyBytes }: { events: number; emptyBytes: number },
): Promise<Sample> {
  const memory = system.memoryMib()
  const redisMemory = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]
  return {
    'memory of webhooks': memory['webhooks'] ?? NaN,
    'memory of dispatcher': memory['dispatcher'] ?? NaN,
    'handles of webhooks': handlesOf(system.pids.webhooks),
    'handles of dispatcher': handlesOf(system.pids.dispatcher),
    'Redis keys': await redis.dbsize(),
    'Redis memory': Number(redisMemory) / 1024 / 1024,
    'database for each event': ((await sizeOf(db)) - emptyBytes) / events,
    'dead rows for each live row': await deadRowShare(db),
  }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function reportGrowth(samples: readonly Sample[]): void {
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  for (const [name, unit] of Object.entries(UNITS)) {
    const values = samples.map((sample) => sample[name] ?? NaN)
    const early = mean(values.slice(quarter, 2 * quarter))
    const late = mean(values.slice(-quarter))
    // A ratio says little about values near zero, such as dead rows right after a vacuum: growth by a hundredth counts as flat, too.
    const grown = late - early <= 0.01 ? Math.min(late / early, 1) : late / early
    report({ case: `soak: ${name}`, value: late, unit, ...atMost(grown, MOST_GROWTH) })
  }
}

const stage = await Stage.set({
  databaseUrl,
  redisUrl,
  root: fileURLToPath(new URL('../../../..', import.meta.url)),
})
const system = await stage.system({ accounts: 10, endpoints: 1 })
const db = new Db({ connectionString: system.databaseUrl, max: 1 })
const redis = new Redis(redisUrl)
try {
  const emptyBytes = await sizeOf(db)
  const burst = Math.round(BURST_EVENTS * scale)
  const { perSecond: most } = await system.run({ bytes: BYTES, events: burst })
  const perSecond = Number(option('per-second') ?? Math.round(most * LOAD))
  let events = burst
  const samples: Sample[] = []
  for (let minute = 1; minute <= minutes; minute += 1) {
    const count = Math.max(1, Math.round(perSecond * 60 * scale))
    const { p50Ms, p99Ms } = await system.run({ bytes: BYTES, events: count, perSecond })
    events += count
    const sample = await takeSample(system, { db, redis }, { events, emptyBytes })
    samples.push(sample)
    const others = { ...sample, p50Ms: Math.round(p50Ms), p99Ms: Math.round(p99Ms) }
    report({ case: `minute ${minute}`, value: perSecond, unit: '1/s', others })
  }
  report({ case: 'soak: events delivered, none missing', value: events, unit: 'events' })
  reportGrowth(samples)
} finally {
  redis.disconnect()
  await db.close()
  await system.stop()
  await stage.close()
}
