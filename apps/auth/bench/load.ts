import { median, quantile } from './report.js'

/** One request or statement; throws when the answer is not a good one. */
export type Shoot = (lane: number) => Promise<void>
export type Measured = { perSecond: number; p50Ms: number; p99Ms: number }
export type Pace = { lanes: number; seconds: number }

export const ROUNDS = 5

/** Shoots in `lanes` at a time for `seconds`. */
export async function measure(shoot: Shoot, { lanes, seconds }: Pace): Promise<Measured> {
  const times: number[] = []
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let sentAt = performance.now(); sentAt < until; sentAt = performance.now()) {
        await shoot(lane)
        times.push(performance.now() - sentAt)
      }
    }),
  )
  const elapsed = (performance.now() - startedAt) / 1000
  return {
    perSecond: times.length / elapsed,
    p50Ms: median(times),
    p99Ms: quantile(times, 0.99),
  }
}

/** Takes loads in turns, so that all see the same machine, and leaves out a first round for warming up. */
export async function compare<const Loads extends readonly (() => Promise<Measured>)[]>(
  ...loads: Loads
): Promise<{ [Index in keyof Loads]: Measured }> {
  const seen = loads.map((): Measured[] => [])
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [index, load] of loads.entries()) {
      const result = await load()
      if (round > 0) seen[index]?.push(result)
    }
  return seen.map(middle) as { [Index in keyof Loads]: Measured }
}

const middle = (results: readonly Measured[]): Measured => ({
  perSecond: median(results.map(({ perSecond }) => perSecond)),
  p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
})
