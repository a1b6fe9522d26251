import { deliveryJobId } from '@signet/webhook-core/queue'
import { concludeFirstAttempts, scheduleDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { dispatchInRows, type TestDispatcher } from './dispatcher.js'
import type { Subscriber } from './subscriber.js'

/** Longer than a test lasts, and shorter than a delay that the sweeper takes for a mistake. */
const FAR_MS = 5 * 60_000

/**
 * Makes deliveries that were due a minute ago and whose jobs wait five more minutes, as if deferred while the endpoint was slow. Returns
 * the ids of the jobs.
 */
export async function deferDeliveries(
  dispatcher: TestDispatcher,
  subscriber: Subscriber,
  count: number,
): Promise<string[]> {
  const { db, queues } = dispatcher
  const eventIds = await subscriber.withoutQueues().summaries(count)
  const due = []
  for (const eventId of eventIds)
    for (const { id, endpoint } of (await dispatchInRows(dispatcher, eventId)).created)
      due.push({ id, endpointId: endpoint.id, accountId: endpoint.accountId })
  await scheduleDeliveries(
    db,
    due.map(({ id }) => id),
    new Date(Date.now() - 60_000),
  )
  await concludeFirstAttempts(db, eventIds)
  await queues.addDeliveries(due.map((one) => ({ ...one, delayMs: FAR_MS })))
  return due.map(({ id }) => deliveryJobId(id))
}
