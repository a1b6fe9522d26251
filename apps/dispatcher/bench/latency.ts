import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@signet/db'
import { atMost, median, quantile, reporter } from '@signet/testkit/bench'
import { ENABLING } from '@signet/webhook-core/stores'
import type { Stage } from './stage.js'
import { startLoad } from './throughput.js'
import type { Subscriber } from '../test/support/subscriber.js'

const report = reporter('dispatch')
const STEADY_MS = 4000
const PEAK_LOAD = { endpoints: 10, bytes: 2048, deliveries: 5000 }
const FAN_OUT = 5

/** Measures latency at half of the peak rate, from before the ingest statement to the arrival of the request at the receiver. */
export async function measureLatency(stage: Stage, rounds: number): Promise<void> {
  const { pipeline, drain } = await startLoad(stage, PEAK_LOAD)
  const peaks: number[] = []
  for (let round = 0; round < 4; round += 1) peaks.push((await drain()).perSecond)
  const perSecond = Math.floor(median(peaks.slice(1)) / 2 / FAN_OUT)
  const subscribers = await pipeline.subscribers(paths('/hook', 10))
  const measured: { p50: number; p99: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const latencies = await steadily(stage, subscribers, perSecond)
    if (round > 0) measured.push({ p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) })
  }
  await pipeline.stop()
  const name = `latency: ingest to arrival at ${perSecond * FAN_OUT} deliveries/s (half of the peak)`
  report({ case: `${name}, p50`, value: median(measured.map(({ p50 }) => p50)), unit: 'ms' })
  const p99 = median(measured.map((one) => one.p99))
  report({ case: `${name}, p99`, value: p99, unit: 'ms', goal: '<= 100', ok: p99 <= 100 })
}

/** Measures 90 endpoints of 90 accounts, in turns alone and beside 10 more that never answer. */
export async function measureHanging(stage: Stage, rounds: number): Promise<void> {
  const perSecond = 300
  const prepared = async (hanging: number) => {
    const pipeline = await stage.startPipeline('hanging')
    const good = await Promise.all(paths('/hook', 90).map((path) => pipeline.subscribers([path])))
    const bad = await Promise.all(paths('/hang', hanging).map((path) => pipeline.subscribers([path])))
    return { pipeline, subscribers: [...good, ...bad].flat() }
  }
  const sides = { alone: await prepared(0), beside: await prepared(10) }
  const measured: { alone: number; beside: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const p99 = async (side: keyof typeof sides) =>
      quantile(await steadily(stage, sides[side].subscribers, perSecond), 0.99)
    await enableAll(sides.beside.pipeline.db)
    const both = { alone: await p99('alone'), beside: await p99('beside') }
    if (round > 0) measured.push(both)
  }
  await sides.alone.pipeline.stop()
  await sides.beside.pipeline.stop()
  const alone = median(measured.map((both) => both.alone))
  const beside = median(measured.map((both) => both.beside))
  report({ case: 'hanging: ingest to arrival, 90 endpoints alone, p99', value: alone, unit: 'ms' })
  report({
    case: 'hanging: ingest to arrival, the same beside 10 hanging ones, p99',
    value: beside,
    unit: 'ms',
    ...atMost(beside / alone, 2),
  })
}

/** Enables all endpoints again: those that hang collect failures, and 20 failures disable an endpoint. */
const enableAll = (db: Db) => db.query(`update webhook_endpoints set ${ENABLING}`)

const paths = (folder: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${folder}/${index}`)

/** Ingests at a steady rate for a while, and returns the latency of every arrival in ms. */
export async function steadily(
  stage: Stage,
  subscribers: readonly Subscriber[],
  perSecond: number,
  forMs = STEADY_MS,
): Promise<number[]> {
  const begun = new Map<string, number>()
  const open = new Set<Promise<void>>()
  const ingest = async (subscriber: Subscriber) => {
    const at = Date.now()
    begun.set(await subscriber.summary(), at)
  }
  stage.receiver.note()
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
  const arrivals = await stage.receiver.noted()
  return arrivals.flatMap(([eventId, at]) => {
    const from = begun.get(eventId)
    return from === undefined ? [] : [at - from]
  })
}
