import { usageOf } from './child.js'
import { ENDPOINTS_PER_ACCOUNT, type Pipeline } from './pipeline.js'
import { atLeast, median, report } from './results.js'
import { type Stage } from './stage.js'

type Case = {
  name: string
  endpoints: number
  bytes: number
  deliveries: number
  ofRaw: number
  ofQueue?: number
}
type Measured = { raw: number; queue: number; whole: number; cpuMs: number; memoryMib: number }

const KIB = 1024
const cases: readonly Case[] = [
  { name: '2 KiB, 1 endpoint', endpoints: 1, bytes: 2 * KIB, deliveries: 4000, ofRaw: 0.45, ofQueue: 0.85 },
  {
    name: '2 KiB, 10 endpoints',
    endpoints: 10,
    bytes: 2 * KIB,
    deliveries: 8000,
    ofRaw: 0.45,
    ofQueue: 0.85,
  },
  {
    name: '2 KiB, 1000 endpoints',
    endpoints: 1000,
    bytes: 2 * KIB,
    deliveries: 8000,
    ofRaw: 0.45,
    ofQueue: 0.85,
  },
  { name: '100 KiB, 10 endpoints', endpoints: 10, bytes: 100 * KIB, deliveries: 1500, ofRaw: 0.5 },
  { name: '1 MiB, 10 endpoints', endpoints: 10, bytes: 1023 * KIB, deliveries: 250, ofRaw: 0.6 },
]

/** Raw limit, BullMQ alone and the whole pipeline, one after the other in every round. Returns the peak at 2 KiB. */
export async function measureThroughput(stage: Stage, rounds: number, only: RegExp): Promise<number> {
  const medians = new Map<string, number>()
  for (const one of cases.filter(({ name }) => only.test(name))) {
    const measured = await measure(stage, one, rounds)
    medians.set(one.name, median(measured.map(({ whole }) => whole)))
    show(one, measured)
  }
  const [one, ten, thousand] = cases.map(({ name }) => medians.get(name))
  if (one && thousand)
    report({
      case: '1000 endpoints / 1 endpoint',
      value: thousand,
      unit: '1/s',
      ...atLeast(thousand / one, 0.9),
    })
  return ten ?? one ?? 1000
}

async function measure(stage: Stage, one: Case, rounds: number): Promise<Measured[]> {
  const { endpoints, bytes, deliveries } = one
  const paths = Array.from({ length: endpoints }, (_, index) => `/hook/${index}`)
  const pipeline = await stage.startPipeline('throughput')
  const subscribers = await pipeline.subscribers(paths)
  const results: Measured[] = []
  // The first round warms up compilers, pools and caches of everyone and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const raw = await stage.raw(deliveries, bytes, paths)
    const queue = await stage.bullmq(deliveries, bytes, paths)
    const whole = await drainOnce(pipeline, async () => {
      const events = Math.ceil(deliveries / Math.min(endpoints, ENDPOINTS_PER_ACCOUNT))
      await pipeline.prepare(subscribers, events, bytes)
      return events * Math.min(endpoints, ENDPOINTS_PER_ACCOUNT)
    })
    if (round > 0) results.push({ raw, queue, ...whole })
  }
  await pipeline.stop()
  return results
}

/** Deliveries a second of prepared events, and the dispatcher's CPU time for each. */
export async function drainOnce(pipeline: Pipeline, prepare: () => Promise<number>) {
  const deliveries = await prepare()
  const before = usageOf(pipeline.pid)
  const tookMs = await pipeline.drain()
  const after = usageOf(pipeline.pid)
  return {
    whole: deliveries / (tookMs / 1000),
    cpuMs: (after.cpuMs - before.cpuMs) / deliveries,
    memoryMib: after.memoryMib,
  }
}

function show({ name, ofRaw, ofQueue }: Case, measured: readonly Measured[]): void {
  const middle = (key: keyof Measured) => median(measured.map((one) => one[key]))
  const ratio = (to: 'raw' | 'queue') => median(measured.map((one) => one.whole / one[to]))
  const unit = '1/s'
  report({ case: `raw limit: ${name}`, value: middle('raw'), unit })
  report({ case: `BullMQ + POST: ${name}`, value: middle('queue'), unit })
  report({
    case: `whole pipeline / raw limit: ${name}`,
    value: middle('whole'),
    unit,
    ...atLeast(ratio('raw'), ofRaw),
  })
  if (ofQueue !== undefined)
    report({
      case: `whole pipeline / BullMQ + POST: ${name}`,
      value: middle('whole'),
      unit,
      ...atLeast(ratio('queue'), ofQueue),
    })
  report({ case: `CPU of the dispatcher per delivery: ${name}`, value: middle('cpuMs'), unit: 'ms' })
  report({ case: `memory of the dispatcher: ${name}`, value: middle('memoryMib'), unit: 'MiB' })
}
