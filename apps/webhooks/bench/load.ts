import { Pool } from 'undici'

/** One request of a load; answers nothing and throws when the answer is not a good one. */
export type Shoot = (pool: Pool, lane: number) => Promise<void>

export type Measured = { perSecond: number; p99Ms: number }

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
  return { perSecond: times.length / elapsed, p99Ms: quantile(times, 0.99) }
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)
