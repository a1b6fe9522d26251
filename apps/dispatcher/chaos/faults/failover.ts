import { setTimeout as sleep } from 'node:timers/promises'
import { untilInFlight, type Fault } from './fault.js'

/**
 * Adds a synchronous standby, which has everything acknowledged on disk but applies it minutes late. Kills the primary for good,
 * promotes the standby, and makes its address that of the database.
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

/** The new master lacks everything that had not reached it. The sentinels tell clients where it is. */
export const failOverRedis: Fault = {
  name: 'kill the master of Redis, let sentinels promote its replica',
  watched: true,
  repeats: 'uncounted',
  async run(stack) {
    await untilInFlight(stack)
    await stack.redis.failOver()
  },
}
