import { measure as measureLoad, type Measured, type Pace } from '@signet/testkit/bench'
import { Pool } from 'undici'

/** Sends one request of a load, and throws unless the answer is good. */
export type Shoot = (pool: Pool, worker: number) => Promise<void>

/** Measures a server over a separate pool of connections. */
export async function measure(base: string, shoot: Shoot, pace: Pace): Promise<Measured> {
  const pool = new Pool(base, { connections: pace.concurrency, pipelining: 1 })
  const measured = await measureLoad((worker) => shoot(pool, worker), pace)
  await pool.close()
  return measured
}
