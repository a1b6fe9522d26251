import { type Queryable } from '@signet/db'
import { findAttemptPlans, type AttemptPlan, type DeliveryId } from '@signet/webhook-core'
import { Batcher } from '../batching/batcher.js'

const MAX_BATCH = 200
const LINGER_MS = 1
/** While one is read the next batch gathers. */
const PARALLEL = 1

/**
 * Reads what attempts need, many at a time and always fresh: nothing of an endpoint is kept, so no attempt can go to one
 * that was disabled, deleted or moved before it began.
 */
export function createPlanLoader(
  db: Queryable,
  patiently: <T>(work: () => Promise<T>) => Promise<T>,
): (id: DeliveryId) => Promise<AttemptPlan | null> {
  const batcher = new Batcher<DeliveryId, AttemptPlan | null>({
    run: async (ids) => {
      const plans = await patiently(() => findAttemptPlans(db, ids))
      const byId = new Map(plans.map((plan) => [plan.id, plan]))
      return ids.map((id) => byId.get(id) ?? null)
    },
    maxItems: () => MAX_BATCH,
    lingerMs: LINGER_MS,
    parallel: PARALLEL,
  })
  return (id) => batcher.submit(id)
}
