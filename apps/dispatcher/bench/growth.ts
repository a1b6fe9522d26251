import type { Db } from '@signet/db'
import { atMost, median, report } from './results.js'
import type { Stage } from './stage.js'
import { startLoad } from './throughput.js'

const ROWS = 5_000_000
const LOAD = { endpoints: 10, bytes: 2048, deliveries: 5000 }

/** Throughput beside 1,000 and beside 5,000,000 finished deliveries, in turns. */
export async function measureGrowth(stage: Stage, rounds: number): Promise<void> {
  const few = await startLoad(stage, LOAD)
  const many = await startLoad(stage, LOAD)
  // The warming-up.
  for (const { drain } of [few, many]) await drain()
  await fill(few.pipeline.db, 1000)
  await fill(many.pipeline.db, ROWS)
  const measured: { few: number; many: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const both = { few: (await few.drain()).perSecond, many: (await many.drain()).perSecond }
    if (round > 0) measured.push(both)
  }
  await few.pipeline.stop()
  await many.pipeline.stop()
  report({ case: 'growth: beside 1,000 rows', value: median(measured.map((both) => both.few)), unit: '1/s' })
  report({
    case: 'growth: beside 1,000 rows / beside 5,000,000 rows',
    value: median(measured.map((both) => both.many)),
    unit: '1/s',
    ...atMost(median(measured.map((both) => both.few / both.many)), 1.2),
  })
}

/**
 * Finished deliveries, five of an event and spread over all endpoints, as they are in production: with all of them at one
 * event the planner would rightly believe that an event has millions. Nothing reads the events of finished deliveries, so
 * these have none; and the indexes are built at the end.
 */
async function fill(db: Db, rows: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    await tx.query("set local maintenance_work_mem = '512MB'")
    const { rows: indexes } = await tx.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
       where indrelid = 'webhook_deliveries'::regclass and not indisprimary`,
    )
    for (const { name } of indexes) await tx.query(`drop index ${name}`)
    await tx.query(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type, replay, status, attempts, delivered_at, created_at)
       select ids[1 + n % cardinality(ids)],
         'evt_' || lpad(to_hex((1000 * extract(epoch from now()))::bigint - 1000 * (n / 5)), 12, '0') || left(md5((n / 5)::text), 20),
         'summary.completed', 0, 1, 1, now(), now() - n / 5 * interval '1 second'
       from (select array_agg(id) as ids from webhook_endpoints), generate_series(1, $1::integer) n`,
      [rows],
    )
    for (const { definition } of indexes) await tx.query(definition)
  })
  await db.query('vacuum analyze webhook_deliveries')
  // What filling left to be written must not be written during a measurement.
  await db.query('checkpoint')
}
