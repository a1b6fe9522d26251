import type { Db } from '@signet/db'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, quantile, reporter } from '@signet/testkit/bench'
import { Retention } from '../src/retention/retention.js'
import { steadily } from './latency.js'
import type { History } from './large-history.js'
import type { Pipeline } from './pipeline.js'
import type { Stage } from './stage.js'

const report = reporter('dispatch')
const KEEP_MS = 30 * 24 * 60 * 60 * 1000
const ALONE_MS = 4000
const BESIDE_MS = 6000
/** Events per second that arrive meanwhile, one delivery each. */
const PER_SECOND = 100
const TABLES = ['webhook_events', 'webhook_deliveries', 'webhook_attempts']
const AUTOVACUUM_MS = 60_000

type Pause = 'a fifth of a connection' | 'without pauses'
const PAUSES: readonly Pause[] = ['a fifth of a connection', 'without pauses']
type Deleted = { events: number; seconds: number; batchMs: number[] }

/** Measures how fast retention deletes, what that costs, and how it affects dispatch. Runs the product's own code with a fast clock. */
export async function measureRetention(
  stage: Stage,
  pipeline: Pipeline,
  { singlesUntil, fivesUntil }: History,
  rounds: number,
): Promise<void> {
  const before = await vacuumed(pipeline.db)
  await alone(stage, pipeline, 'one delivery', singlesUntil)
  await alone(stage, pipeline, 'five deliveries', fivesUntil)
  await besideDispatch(stage, pipeline, fivesUntil, rounds)
  await reportRemains(pipeline.db, before)
}

/** Deletes events older than `until`, for as long as `work` takes. */
async function deleting(
  pipeline: Pipeline,
  until: Date,
  pause: Pause,
  work: () => Promise<unknown>,
): Promise<Deleted> {
  const db = pipeline.openDb()
  const batchMs: number[] = []
  let batchAt = performance.now()
  const startedAt = batchAt
  const ended = new AbortController()
  const rest = async (ms: number) => {
    batchMs.push(performance.now() - batchAt)
    if (pause !== 'without pauses')
      await sleep(ms, undefined, { signal: ended.signal }).catch(() => undefined)
    batchAt = performance.now()
  }
  const retention = new Retention({
    db,
    observer: { oldRowsDeleted: () => undefined, retentionFailed: (error) => console.error(error) },
    databaseNow: () => Promise.resolve(new Date(until.getTime() + KEEP_MS)),
    pause: rest,
  })
  const running = retention.run().then((deleted) => ({ deleted, endedAt: performance.now() }))
  await work()
  ended.abort()
  await retention.stop()
  const { deleted, endedAt } = await running
  await db.close()
  if (!deleted) throw new Error('somebody else deletes')
  return { events: deleted.events, seconds: (endedAt - startedAt) / 1000, batchMs }
}

async function alone(stage: Stage, pipeline: Pipeline, what: string, until: Date): Promise<void> {
  for (const pause of PAUSES) {
    const meter = stage.meterOf(pipeline)
    const [spentBefore, logBefore] = [await meter(), await writtenLog(pipeline.db)]
    const { events, seconds, batchMs } = await deleting(pipeline, until, pause, () => sleep(ALONE_MS))
    const [spent, log] = [await meter(), await writtenLog(pipeline.db)]
    // A run must not become slower because of what it has deleted.
    const tenth = Math.ceil(batchMs.length / 10)
    const [first, last] = [median(batchMs.slice(0, tenth)), median(batchMs.slice(-tenth))]
    report({
      case: `retention: events with ${what}, ${pause}`,
      value: events / seconds,
      unit: '1/s',
      others: {
        postgresUsPerEvent: Math.round((1000 * (spent.postgres - spentBefore.postgres)) / events),
        logBytesPerEvent: Math.round((log - logBefore) / events),
        firstBatchesMs: Math.round(first),
        lastBatchesMs: Math.round(last),
      },
    })
  }
}

/** Measures the latency from ingest to arrival, without retention and with it, in turns. */
async function besideDispatch(stage: Stage, pipeline: Pipeline, until: Date, rounds: number): Promise<void> {
  const paths = Array.from({ length: 10 }, (_, index) => `/beside/${index}`)
  const subscribers = (await Promise.all(paths.map((path) => pipeline.subscribers([path])))).flat()
  const latency = async () => {
    const all = await steadily(stage, subscribers, PER_SECOND, BESIDE_MS)
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
  }
  type Latency = Awaited<ReturnType<typeof latency>>
  const measured: Record<'nothing' | Pause, (Latency & { perSecond: number })[]> = {
    nothing: [],
    'a fifth of a connection': [],
    'without pauses': [],
  }
  for (let round = 0; round <= rounds; round += 1) {
    const nothing = { ...(await latency()), perSecond: 0 }
    if (round === 0) continue
    measured.nothing.push(nothing)
    for (const pause of PAUSES) {
      let found: Latency | undefined
      const { events, seconds } = await deleting(pipeline, until, pause, async () => {
        found = await latency()
      })
      if (found) measured[pause].push({ ...found, perSecond: events / seconds })
    }
  }
  const middle = (kind: 'nothing' | Pause, key: 'p50' | 'p99' | 'perSecond') =>
    median(measured[kind].map((one) => one[key]))
  for (const key of ['p50', 'p99'] as const)
    for (const kind of ['nothing', ...PAUSES] as const)
      report({
        case: `retention: ingest to arrival at ${PER_SECOND}/s, ${key}, beside ${kind === 'nothing' ? 'no retention' : `retention ${kind}`}`,
        value: middle(kind, key),
        unit: 'ms',
        ratio: median(measured[kind].map((one, i) => one[key] / (measured.nothing[i]?.[key] ?? NaN))),
        ...(kind === 'nothing'
          ? {}
          : { others: { deletedPerSecond: Math.round(middle(kind, 'perSecond')) } }),
      })
}

async function writtenLog(db: Db): Promise<number> {
  const { rows } = await db.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0' as bytes`)
  return Number(rows[0]?.bytes ?? 0)
}

type Vacuumed = { table: string; dead: number; seconds: number; count: number }

async function vacuumed(db: Db): Promise<Vacuumed[]> {
  await db.query('select pg_stat_clear_snapshot()')
  const { rows } = await db.query<Vacuumed>(
    `select relname as table, n_dead_tup::integer as dead, total_autovacuum_time / 1000 as seconds, autovacuum_count::integer as count
     from pg_stat_user_tables where relname = any ($1) order by relname`,
    [TABLES],
  )
  return rows
}

/** Reports what autovacuum did by itself within a minute, and then how long a vacuum takes. */
async function reportRemains(db: Db, before: readonly Vacuumed[]): Promise<void> {
  const left = await vacuumed(db)
  await sleep(AUTOVACUUM_MS)
  for (const [i, now] of (await vacuumed(db)).entries()) {
    const startedAt = performance.now()
    await db.query(`vacuum ${now.table}`)
    report({
      case: `retention: cleaning up ${now.table} afterwards`,
      value: (performance.now() - startedAt) / 1000,
      unit: 's',
      others: {
        deadRowsLeft: left[i]?.dead ?? 0,
        autovacuumSeconds: now.seconds - (before[i]?.seconds ?? 0),
        autovacuums: now.count - (before[i]?.count ?? 0),
      },
    })
  }
}
