import { setTimeout as sleep } from 'node:timers/promises'
import { type Pipeline } from './pipeline.js'
import { atMost, quantile, report } from './results.js'
import { type Stage } from './stage.js'
import { type Subscriber } from '../test/support/subscriber.js'

const STEADY_MS = 10_000

/** From before the ingest statement to the arrival of the request at the receiver, at half of the peak. */
export async function measureLatency(stage: Stage, peakDeliveriesPerSecond: number): Promise<void> {
  const pipeline = await stage.startPipeline('latency')
  const subscribers = await pipeline.subscribers(paths('/hook', 10))
  const perSecond = Math.floor(peakDeliveriesPerSecond / 2 / 5)
  await steadily(stage, subscribers, perSecond, 2000)
  const latencies = await steadily(stage, subscribers, perSecond, STEADY_MS)
  await settle(pipeline)
  await pipeline.stop()
  const name = `ingest to arrival at ${perSecond * 5} deliveries/s (half of the peak)`
  report({ case: `${name}, p50`, value: quantile(latencies, 0.5), unit: 'ms' })
  const p99 = quantile(latencies, 0.99)
  report({ case: `${name}, p99`, value: p99, unit: 'ms', goal: '<= 100', ok: p99 <= 100 })
}

/** 100 endpoints of 100 accounts, alone and then with 10 more beside them that never answer. */
export async function measureHanging(stage: Stage): Promise<void> {
  const perSecond = 300
  const p99 = async (hanging: number) => {
    const pipeline = await stage.startPipeline('hanging')
    const good = await Promise.all(paths('/hook', 90).map((path) => pipeline.subscribers([path])))
    const bad = await Promise.all(paths('/hang', hanging).map((path) => pipeline.subscribers([path])))
    const latencies = await steadily(stage, [...good, ...bad].flat(), perSecond, STEADY_MS)
    await pipeline.stop()
    return quantile(latencies, 0.99)
  }
  const alone = await p99(0)
  const beside = await p99(10)
  report({ case: 'ingest to arrival, 90 endpoints alone, p99', value: alone, unit: 'ms' })
  report({
    case: 'ingest to arrival, the same beside 10 hanging ones, p99',
    value: beside,
    unit: 'ms',
    ...atMost(beside / alone, 2),
  })
}

const paths = (folder: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${folder}/${index}`)

/** Ingests at a steady rate and gives the latency of every arrival, in ms. */
async function steadily(stage: Stage, subscribers: readonly Subscriber[], perSecond: number, forMs: number) {
  const begun = new Map<string, number>()
  const open = new Set<Promise<void>>()
  const ingest = async (subscriber: Subscriber) => {
    const at = Date.now()
    begun.set(await subscriber.summary(), at)
  }
  stage.receiver.tell({ kind: 'note', on: true })
  const startedAt = performance.now()
  for (let sent = 0; performance.now() - startedAt < forMs;) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
    for (; sent < due; sent += 1) {
      const subscriber = subscribers[sent % subscribers.length]
      if (!subscriber) continue
      const one = ingest(subscriber).finally(() => open.delete(one))
      open.add(one)
    }
    await sleep(2)
  }
  await Promise.all(open)
  await sleep(1000)
  const answer = await stage.receiver.ask({ kind: 'ask' })
  stage.receiver.tell({ kind: 'note', on: false })
  const arrivals = answer.kind === 'count' ? answer.arrivals : []
  return arrivals.flatMap(([eventId, at]) => {
    const from = begun.get(eventId)
    return from === undefined ? [] : [at - from]
  })
}

async function settle(pipeline: Pipeline): Promise<void> {
  await pipeline.drain()
}
