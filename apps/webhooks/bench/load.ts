import { measure as measureLoad, type Measured, type Pace } from '@signet/testkit/bench'
import { Pool } from 'undici'

/** One request of a load; throws when the answer is not a good one. */
export type Shoot = (pool: Pool, worker: number) => Promise<void>

/** Shoots at a server over connections of its own. */
export async function measure(base: string, shoot: Shoot, pace: Pace): Promise<Measured> {
  const pool = new Pool(base, { connections: pace.concurrency, pipelining: 1 })
  const measured = await measureLoad((worker) => shoot(pool, worker), pace)
  await pool.close()
  return measured
}
