import { setTimeout as sleep } from 'node:timers/promises'
import { untilInFlight, type Fault } from './fault.js'

/**
 * A synchronous standby has on disk whatever was acknowledged, and is minutes behind in applying it. The primary is killed and
 * stays away; the standby is promoted, and its address becomes that of the database.
 */
export const failOverPostgres: Fault = {
  name: 'kill PostgreSQL, promote a standby that lags',
  repeats: 'never',
  async run(stack) {
    await stack.postgres.addStandby()
    await sleep(3000)
    await untilInFlight(stack)
    await stack.postgres.kill()
    await stack.postgres.promoteStandby()
  },
}

/** The new master lacks whatever had not reached it; clients learn from the sentinels where it is. */
export const failOverRedis: Fault = {
  name: 'kill the master of Redis, let sentinels promote its replica',
  watched: true,
  repeats: 'uncounted',
  async run(stack) {
    await untilInFlight(stack)
    await stack.redis.failOver()
  },
}
