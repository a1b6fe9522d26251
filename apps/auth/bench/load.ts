import { median, quantile } from './report.js'

/** One request or statement; throws when the answer is not a good one. */
export type Shoot = (lane: number) => Promise<void>
/** `cpuUs` is the processor time that one request cost the server's process, in microseconds, where it was measured. */
export type Measured = { requests: number; perSecond: number; p50Ms: number; p99Ms: number; cpuUs?: number }
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
    requests: times.length,
    perSecond: times.length / elapsed,
    p50Ms: median(times),
    p99Ms: quantile(times, 0.99),
  }
}

/** A load, and what it costs the server. */
export const withCpu = (server: { cpuMs(): number }, load: () => Promise<Measured>) => async () => {
  const before = server.cpuMs()
  const measured = await load()
  return { ...measured, cpuUs: (1000 * (server.cpuMs() - before)) / measured.requests }
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
  requests: median(results.map(({ requests }) => requests)),
  cpuUs: median(results.map(({ cpuUs }) => cpuUs ?? NaN)),
  perSecond: median(results.map(({ perSecond }) => perSecond)),
  p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
})
