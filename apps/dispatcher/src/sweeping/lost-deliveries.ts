import type { Db } from '@signet/db'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { findOverdueDeliveries, type OverdueDelivery } from '../deliveries/delivery-store.js'
import type { JobPresence } from '../queues/job-presence.js'
import { MAX_DEFERRAL_MS } from './mistimed-jobs.js'
import { eachPage, PAGE } from './pages.js'

export type LostDeliveriesDeps = {
  db: Db
  queues: Pick<WebhookQueues, 'addDeliveries' | 'startDelayed'>
  presence: JobPresence
  /** Called when a job was found that is in none of the lists of its queue. */
  onStray: (queue: 'events' | 'deliveries') => void
  now: () => Date
}

/** For deliveries due before `before`: adds a job to each that has none, and starts jobs that are delayed far beyond that time. */
export function requeueOverdueDeliveries(
  { db, queues, presence, onStray, now }: LostDeliveriesDeps,
  before: Date,
  stop: AbortSignal,
): Promise<number> {
  return eachPage<OverdueDelivery>(
    (after) => findOverdueDeliveries(db, { before, after, limit: PAGE }),
    async (page) => {
      if (await presence.hasStrayDelivery(page)) onStray('deliveries')
      const lost = await presence.missingDeliveries(page)
      await queues.addDeliveries(lost)
      const latest = new Date(now().getTime() + MAX_DEFERRAL_MS)
      const delayed = await presence.deliveriesDelayedBeyond(page, latest)
      return lost.length + (await queues.startDelayed('deliveries', delayed))
    },
    stop,
  )
}

/**
 * The same for deliveries that are due in the next `aheadMs`. They need no grace period, because no process is attempting them. If
 * a sweep found them only when overdue, they would start late by up to a sweep and the grace period.
 */
export function requeueUpcomingDeliveries(
  { db, queues, presence, onStray, now }: LostDeliveriesDeps,
  aheadMs: number,
  stop: AbortSignal,
): Promise<number> {
  const from = now().getTime()
  const first = { dueAt: new Date(from).toISOString() }
  const before = new Date(from + aheadMs)
  return eachPage<OverdueDelivery>(
    (after) => findOverdueDeliveries(db, { before, after: after ?? first, limit: PAGE }),
    async (page) => {
      if (await presence.hasStrayDelivery(page)) onStray('deliveries')
      const lost = await presence.missingDeliveries(page)
      const delayMs = (due: Date) => Math.max(0, due.getTime() - now().getTime())
      await queues.addDeliveries(lost.map((row) => ({ ...row, delayMs: delayMs(row.due) })))
      return lost.length
    },
    stop,
  )
}
