import { type Db } from '@signet/db'
import { type Pipeline } from './pipeline.js'
import { atMost, median, report } from './results.js'
import { type Stage } from './stage.js'
import { drainOnce } from './throughput.js'

const ROWS = 5_000_000
const DELIVERIES = 5000

/** Throughput beside 1,000 and beside 5,000,000 finished deliveries, in turns. */
export async function measureGrowth(stage: Stage, rounds: number): Promise<void> {
  const small = await prepared(stage, 1000)
  const large = await prepared(stage, ROWS)
  const perSecond = { small: [] as number[], large: [] as number[] }
  for (let round = 0; round <= rounds; round += 1) {
    for (const [key, one] of [
      ['small', small],
      ['large', large],
    ] as const) {
      const { whole } = await drainOnce(one.pipeline, one.prepare)
      if (round > 0) perSecond[key].push(whole)
    }
  }
  await small.pipeline.stop()
  await large.pipeline.stop()
  const [few, many] = [median(perSecond.small), median(perSecond.large)]
  report({ case: 'throughput beside 1,000 rows', value: few, unit: '1/s' })
  report({ case: 'throughput beside 5,000,000 rows', value: many, unit: '1/s', ...atMost(few / many, 1.2) })
}

async function prepared(stage: Stage, rows: number) {
  const pipeline: Pipeline = await stage.startPipeline('growth')
  const subscribers = await pipeline.subscribers(Array.from({ length: 10 }, (_, index) => `/hook/${index}`))
  await subscribers[0]?.summary()
  await pipeline.drain()
  await fill(pipeline.db, rows)
  const prepare = async () => {
    await pipeline.prepare(subscribers, DELIVERIES / 5, 2048)
    return DELIVERIES
  }
  return { pipeline, prepare }
}

/** Finished deliveries of the one event there is, as an operator's replays: as many rows as wanted in all indexes. */
async function fill(db: Db, rows: number): Promise<void> {
  const step = 250_000
  for (let from = 1; from <= rows; from += step) {
    await db.query(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type, replay, status, attempts, delivered_at, created_at)
       select d.endpoint_id, d.event_id, d.event_type, n, 1, 1, now(), now() - n * interval '1 second'
       from (select endpoint_id, event_id, event_type from webhook_deliveries where replay = 0 limit 1) d,
         generate_series($1::integer, $2::integer) n`,
      [from, Math.min(rows, from + step - 1)],
    )
  }
  await db.query('vacuum analyze webhook_deliveries')
}
