import { randomBytes } from 'node:crypto'
import { fromEnvironment } from './environment.js'

export interface TestRedis {
  url: string
  /** A BullMQ prefix for this test alone, hash-tagged so that it also works on a cluster. */
  prefix: string
}

/** The Redis of this jest run, with a unique prefix instead of a separate server. */
export function testRedis(): TestRedis {
  const prefix = `{test-${process.pid}-${randomBytes(6).toString('hex')}}`
  return { url: fromEnvironment('SIGNET_TEST_REDIS_URL'), prefix }
}
