import type { Db } from '@signet/db'
import { anEndpoint } from '@signet/webhook-testkit'
import { cancelBacklog, type Endpoint } from '@signet/webhook-core/stores'
import {
  recordAttempts,
  type AttemptResult,
  type RecordedAttempt,
} from '../../src/deliveries/attempt-store.js'
import { pendingDeliveries, type TestDelivery } from './deliveries.js'

/** Helpers for tests of results. They read `database.db` only when called, so it may be set later. */
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

  /** Records results as the recorder does, and then cancels what it would cancel. */
  record: async (...results: AttemptResult[]): Promise<RecordedAttempt[]> => {
    const { db } = database
    const recorded = await recordAttempts(db, results)
    for (const { deliveryId, disabledEndpoint } of recorded) {
      const endpointId = results.find((result) => result.deliveryId === deliveryId)?.endpointId
      if (disabledEndpoint && endpointId) await cancelBacklog(db, endpointId, null, 1000)
    }
    return recorded
  },
})

export function first(deliveries: readonly TestDelivery[]): TestDelivery {
  const [delivery] = deliveries
  if (!delivery) throw new Error('a delivery')
  return delivery
}
