import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMibOf } from '@signet/testkit'
import { atLeast, median, reporter } from '@signet/testkit/bench'
import { perDelivery, type Costs, type Meter } from './costs.js'
import { ENDPOINTS_PER_ACCOUNT, type Pipeline } from './pipeline.js'
import type { Comparison, Stage } from './stage.js'

const report = reporter('dispatch')

export type Load = { endpoints: number; bytes: number; deliveries: number }
type Case = Load & { name: string; ofRaw: number; ofQueue?: number }
type Run = { perSecond: number; costs: Costs }
type Round = { raw: Run; queue: Run; whole: Run & { memoryMib: number } }

const KIB = 1024
const small = { bytes: 2 * KIB, ofRaw: 0.65, ofQueue: 0.85 }

export const throughputCases: readonly Case[] = [
  // The product's limit of eight permits for an endpoint applies.
  { name: '2 KiB, 1 endpoint', endpoints: 1, deliveries: 15_000, ...small, ofRaw: 0.5 },
  { name: '2 KiB, 10 endpoints', endpoints: 10, deliveries: 30_000, ...small },
  { name: '2 KiB, 1000 endpoints', endpoints: 1000, deliveries: 30_000, ...small },
  { name: '100 KiB, 10 endpoints', endpoints: 10, bytes: 100 * KIB, deliveries: 5000, ofRaw: 0.5 },
  { name: '1 MiB, 10 endpoints', endpoints: 10, bytes: 1023 * KIB, deliveries: 300, ofRaw: 0.6 },
]

/** Measures the raw limit, BullMQ alone and the whole pipeline, one after the other in every round. */
export async function measureThroughput(stage: Stage, one: Case, rounds: number): Promise<void> {
  const { endpoints, bytes, deliveries } = one
  const { pipeline, drain } = await startLoad(stage, one)
  const compare = (side: Comparison) =>
    metered(side.meter, deliveries, () => side.run(deliveries, bytes, paths(endpoints)))
  const measured: Round[] = []
  // The first round warms up everyone's compilers, pools and caches, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const raw = await compare(stage.raw)
    const queue = await compare(stage.queue)
    const whole = { ...(await drain()), memoryMib: memoryMibOf(pipeline.pid) }
    if (round > 0) measured.push({ raw, queue, whole })
  }
  await pipeline.stop()
  show(one, measured)
}

/** Compares 1,000 endpoints with one, in turns. */
export async function measureThousand(stage: Stage, rounds: number): Promise<void> {
  const load = { bytes: 2 * KIB, deliveries: 6000 }
  const one = await startLoad(stage, { ...load, endpoints: 1 })
  const thousand = await startLoad(stage, { ...load, endpoints: 1000 })
  const measured: { one: number; thousand: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const both = { one: (await one.drain()).perSecond, thousand: (await thousand.drain()).perSecond }
    if (round > 0) measured.push(both)
  }
  await one.pipeline.stop()
  await thousand.pipeline.stop()
  report({
    case: '2 KiB, 1000 endpoints / 1 endpoint',
    value: median(measured.map((both) => both.thousand)),
    unit: '1/s',
    ...atLeast(median(measured.map((both) => both.thousand / both.one)), 0.9),
  })
}

const paths = (count: number) => Array.from({ length: count }, (_, index) => `/hook/${index}`)

/** Starts a pipeline, and returns it with a function that has it deliver the load once. */
export async function startLoad(stage: Stage, { endpoints, bytes, deliveries }: Load) {
  const pipeline: Pipeline = await stage.startPipeline('load')
  const subscribers = await pipeline.subscribers(paths(endpoints))
  const fanOut = Math.min(endpoints, ENDPOINTS_PER_ACCOUNT)
  const events = Math.ceil(deliveries / fanOut)
  const drain = async (): Promise<Run> => {
    await pipeline.prepare(subscribers, events, bytes)
    const expected = (await stage.receiver.count()) + events * fanOut
    return metered(stage.meterOf(pipeline), events * fanOut, async () => {
      const startedAt = performance.now()
      await pipeline.release()
      // Polls the receiver, which costs the database nothing; only the last commits are waited for at the database.
      while ((await stage.receiver.count()) < expected) await sleep(10)
      await pipeline.untilDone()
      return (events * fanOut) / ((performance.now() - startedAt) / 1000)
    })
  }
  return { pipeline, drain }
}

async function metered(meter: Meter, count: number, run: () => Promise<number>): Promise<Run> {
  const before = await meter()
  const perSecond = await run()
  return { perSecond, costs: perDelivery(before, await meter(), count) }
}

function show({ name, ofRaw, ofQueue }: Case, rounds: readonly Round[]): void {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick))
  const rate = (kind: keyof Round) => ({ value: middle((round) => round[kind].perSecond), unit: '1/s' })
  const ratio = (to: 'raw' | 'queue') => middle((round) => round.whole.perSecond / round[to].perSecond)
  report({ case: `${name}: raw limit`, ...rate('raw') })
  report({ case: `${name}: BullMQ + POST`, ...rate('queue') })
  report({ case: `${name}: whole pipeline / raw limit`, ...rate('whole'), ...atLeast(ratio('raw'), ofRaw) })
  if (ofQueue !== undefined)
    report({
      case: `${name}: whole pipeline / BullMQ + POST`,
      ...rate('whole'),
      ...atLeast(ratio('queue'), ofQueue),
    })
  const titles = { raw: 'raw limit', queue: 'BullMQ + POST', whole: 'whole pipeline' } as const
  for (const kind of ['raw', 'queue', 'whole'] as const) {
    const cost = (key: keyof Costs) => middle((round) => round[kind].costs[key])
    const us = (key: keyof Costs) => Math.round(cost(key) * 1000)
    report({
      case: `${name}: ${titles[kind]}: CPU of sender per delivery`,
      value: us('sender'),
      unit: 'us',
      others: { receiver: us('receiver'), redis: us('redis'), postgres: us('postgres') },
    })
  }
  report({
    case: `${name}: Redis scripts per delivery`,
    value: middle(({ whole }) => whole.costs.scripts),
    unit: '1',
  })
  report({
    case: `${name}: statements per delivery`,
    value: middle(({ whole }) => whole.costs.statements),
    unit: '1',
  })
  report({
    case: `${name}: memory of the dispatcher`,
    value: middle(({ whole }) => whole.memoryMib),
    unit: 'MiB',
  })
}
