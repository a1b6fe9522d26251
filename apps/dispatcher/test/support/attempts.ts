import type { Db } from '@signet/db'
import { anEndpoint } from '@signet/webhook-testkit'
import type { Endpoint } from '@signet/webhook-core/stores'
import {
  recordAttempts,
  type AttemptResult,
  type RecordedAttempt,
} from '../../src/deliveries/attempt-store.js'
import { pendingDeliveries, type TestDelivery } from './deliveries.js'

/** What tests of results begin with. `database` may be there only later. */
export const attemptsIn = (database: { readonly db: Db }) => ({
  withDeliveries: async (count: number): Promise<{ endpoint: Endpoint; deliveries: TestDelivery[] }> => {
    const endpoint = await anEndpoint(database.db)
    return { endpoint, deliveries: await pendingDeliveries(database.db, endpoint, count) }
  },

  setFailures: (endpoint: Endpoint, failures: number) =>
    database.db.query(`update webhook_endpoints set consecutive_failures = $2 where id = $1`, [
      endpoint.id,
      failures,
    ]),

  record: (...results: AttemptResult[]): Promise<RecordedAttempt[]> => recordAttempts(database.db, results),
})

export function first(deliveries: readonly TestDelivery[]): TestDelivery {
  const [delivery] = deliveries
  if (!delivery) throw new Error('a delivery')
  return delivery
}
