import { median, reporter } from '@signet/testkit/bench'
import { readBacklog, readUndispatched } from '../src/backlog/backlog-store.js'
import { findOverdueDeliveries } from '../src/deliveries/delivery-store.js'
import { findOpenFirstAttempts } from '../src/dispatching/first-attempt-store.js'
import { findForgottenEvents } from '../src/events/event-store.js'
import { Operations } from '../src/operations/operations.js'
import type { Db } from '@signet/db'
import type { Pipeline } from './pipeline.js'

const report = reporter('dispatch')
const TIMES = 40
const PAGE = 1000

const reads: Readonly<Record<string, (db: Db, pipeline: Pipeline) => Promise<unknown>>> = {
  'gauges of the backlog': (db) => readBacklog(db, new Date()),
  'gauge of undispatched events': (db) => readUndispatched(db),
  'sweeping events': (db) => findForgottenEvents(db, { before: new Date(), limit: PAGE }),
  'sweeping first attempts': (db) => findOpenFirstAttempts(db, { before: new Date(), limit: PAGE }),
  'sweeping deliveries': (db) => findOverdueDeliveries(db, { before: new Date(), limit: PAGE }),
  'ops status': (db, pipeline) => operations(db, pipeline).status(),
}

const operations = (db: Db, { queues, secretBox }: Pipeline) =>
  new Operations({
    db,
    queues,
    secretBox,
    presence: { jobOf: () => Promise.resolve(null) },
    redisReady: Promise.resolve(),
    now: () => new Date(),
  })

/** Measures reads that run all the time or that operators need in an emergency, in turns beside few rows and beside many. */
export async function measureReads(few: Pipeline, many: Pipeline, beside: string): Promise<void> {
  const dbs = { few: few.openDb(), many: many.openDb() }
  for (const [name, read] of Object.entries(reads)) {
    const times: { few: number[]; many: number[] } = { few: [], many: [] }
    for (let time = 0; time <= TIMES; time += 1) {
      const both = {
        few: await timed(() => read(dbs.few, few)),
        many: await timed(() => read(dbs.many, many)),
      }
      if (time === 0) continue
      times.few.push(both.few)
      times.many.push(both.many)
    }
    const value = median(times.many)
    report({ case: `growth: ${name} beside ${beside}`, value, unit: 'ms', ratio: value / median(times.few) })
  }
  await dbs.few.close()
  await dbs.many.close()
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
