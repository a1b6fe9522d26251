import { Batches, type Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'
import { findDeliverySnapshots, type DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'

const MAX_BATCH = 200
const LINGER_MS = 1

/**
 * Reads the snapshots of attempts in batches. Nothing is cached: an attempt never goes to an endpoint that was disabled,
 * deleted or given another URL before it began.
 */
export function createSnapshotLoader(
  db: Queryable,
  retryWhileUnavailable: RetryWhileUnavailable,
): (id: DeliveryId) => Promise<DeliverySnapshot | null> {
  const batches = new Batches<DeliveryId, DeliverySnapshot | null>({
    send: async (ids) => {
      const snapshots = await retryWhileUnavailable(() => findDeliverySnapshots(db, ids))
      const byId = new Map(snapshots.map((snapshot) => [snapshot.id, snapshot]))
      return ids.map((id) => byId.get(id) ?? null)
    },
    maxItems: MAX_BATCH,
    lingerMs: LINGER_MS,
    // While one batch is read, the next one fills.
    underWay: 1,
    slowMs: Infinity,
  })
  return (id) => batches.add(id)
}
