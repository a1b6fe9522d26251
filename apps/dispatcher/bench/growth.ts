import { atMost, median, reporter } from '@signet/testkit/bench'
import { fillHistory } from './large-history.js'
import { measureReads } from './history-reads.js'
import { measureRetention } from './history-retention.js'
import type { Stage } from './stage.js'
import { startLoad } from './throughput.js'

const report = reporter('dispatch')
const LOAD = { endpoints: 10, bytes: 2048, deliveries: 5000 }
const FEW = 1000

/**
 * Measures, in turns beside 1,000 and beside `rows` finished deliveries: throughput, and the reads that run all the time; then
 * retention of the many rows.
 */
export async function measureGrowth(stage: Stage, rounds: number, rows: number): Promise<void> {
  const few = await startLoad(stage, LOAD)
  const many = await startLoad(stage, LOAD)
  // Warms up.
  for (const { drain } of [few, many]) await drain()
  await fillHistory(few.pipeline.db, FEW)
  const history = await fillHistory(many.pipeline.db, rows)
  const measured: Record<'few' | 'many', Awaited<ReturnType<typeof few.drain>>>[] = []
  for (let round = 0; round <= rounds; round += 1) {
    // The two take turns at going first: what one leaves to be written or vacuumed slows down the next.
    const first = await (round % 2 ? few : many).drain()
    const second = await (round % 2 ? many : few).drain()
    if (round > 0) measured.push(round % 2 ? { few: first, many: second } : { few: second, many: first })
  }
  const beside = `${rows.toLocaleString('en')} rows`
  report({
    case: 'growth: beside 1,000 rows',
    value: median(measured.map((both) => both.few.perSecond)),
    unit: '1/s',
  })
  report({
    case: `growth: beside 1,000 rows / beside ${beside}`,
    value: median(measured.map((both) => both.many.perSecond)),
    unit: '1/s',
    ...atMost(median(measured.map((both) => both.few.perSecond / both.many.perSecond)), 1.2),
  })
  for (const process of ['postgres', 'sender'] as const)
    report({
      case: `growth: CPU of ${process} per delivery beside ${beside}`,
      value: 1000 * median(measured.map((both) => both.many.costs[process])),
      unit: 'us',
      ratio: median(measured.map((both) => both.many.costs[process] / both.few.costs[process])),
    })
  await measureReads(few.pipeline, many.pipeline, beside)
  await measureRetention(stage, many.pipeline, history, rounds)
  await few.pipeline.stop()
  await many.pipeline.stop()
}
