import { Pool } from 'undici'

/** One request of a load; answers nothing and throws when the answer is not a good one. */
export type Shoot = (pool: Pool, lane: number) => Promise<void>

export type Measured = { perSecond: number; p50Ms: number; p99Ms: number }

/** Runs `lanes` requests at a time for `seconds`. */
export async function measure(
  base: string,
  shoot: Shoot,
  { lanes, seconds }: { lanes: number; seconds: number },
): Promise<Measured> {
  const pool = new Pool(base, { connections: lanes, pipelining: 1 })
  const times: number[] = []
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let sentAt = performance.now(); sentAt < until; sentAt = performance.now()) {
        await shoot(pool, lane)
        times.push(performance.now() - sentAt)
      }
    }),
  )
  const elapsed = (performance.now() - startedAt) / 1000
  await pool.close()
  return { perSecond: times.length / elapsed, p50Ms: median(times), p99Ms: quantile(times, 0.99) }
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

const ROUNDS = 5

/** Alternates between two loads, so that both see the same machine, and leaves out a first round for warming up. */
export async function compare(
  one: () => Promise<Measured>,
  two: () => Promise<Measured>,
): Promise<[Measured, Measured]> {
  const seen: [Measured[], Measured[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round += 1) {
    const results = [await one(), await two()] as const
    if (round > 0) results.forEach((result, index) => seen[index]?.push(result))
  }
  const middle = (results: Measured[]): Measured => ({
    perSecond: median(results.map(({ perSecond }) => perSecond)),
    p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
  })
  return [middle(seen[0]), middle(seen[1])]
}
