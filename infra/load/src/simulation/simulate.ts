import { Clock, random } from './clock.js'
import { Deployment } from './deployment.js'
import type { Layout } from './model.js'

export type Simulated = {
  arrived: number
  /** Times from when an event was due to its arrival, in ms. */
  p50Ms: number
  p99Ms: number
  /** How long the last events took compared with the first. Above 2, a queue grows without end. */
  growth: number
  /** See {@link Deployment.busy}. */
  busy: Readonly<Record<string, number>>
}

/** Simulates events at random moments, `perSecond` on average, on their way through all parts of the layout. */
export function simulate(
  layout: Layout,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Simulated {
  const clock = new Clock()
  const chance = random(1)
  const latencies: number[] = []
  const deployment = new Deployment(clock, layout, chance, (batch) => {
    for (const { due } of batch) latencies.push(clock.now - due)
  })
  let left = Math.round(perSecond * seconds)
  const publish = () => {
    deployment.publish({ due: clock.now })
    left -= 1
    if (left > 0) clock.after((-Math.log(1 - chance()) * 1000) / perSecond, publish)
  }
  publish()
  clock.run()
  return { arrived: latencies.length, ...summaryOf(latencies), busy: deployment.busy() }
}

function summaryOf(latencies: readonly number[]) {
  const sorted = [...latencies].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
  const tenth = Math.ceil(latencies.length / 10)
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  // Skips the very first events, which find empty queues.
  const growth = mean(latencies.slice(-tenth)) / mean(latencies.slice(tenth, 2 * tenth))
  return { p50Ms: at(0.5), p99Ms: at(0.99), growth }
}
