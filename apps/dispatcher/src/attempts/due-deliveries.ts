import type { Queryable } from '@signet/db'
import { deliveryStatus, type CancelReason, type DeliveryId } from '@signet/webhook-core'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import { cancelDelivery, holdDelivery, type DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { Observer } from '../observers/observer.js'
import { FINISHED, RECHECK, type JobOutcome } from './job-outcome.js'
import { isBanned, isSame, reasonToCancel, type KnownDelivery } from './snapshot-rules.js'

export type DueDeliveriesDeps = {
  db: Queryable
  /** The row of a delivery as it is now; null when it is gone. */
  findSnapshot: (id: DeliveryId) => Promise<DeliverySnapshot | null>
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Pick<Observer, 'attemptSkipped'>
  now: () => Date
}

/** A delivery that should be attempted now, or what happens to its job instead. */
export type Due = { snapshot: DeliverySnapshot } | { outcome: JobOutcome }

/** Clocks differ between machines. A job that is at most this early counts as on time. */
const EARLY_MS = 50

/** Decides from the row whether a delivery should be attempted now. Otherwise cancels it, holds it, or defers its job. */
export class DueDeliveries {
  constructor(private readonly deps: DueDeliveriesDeps) {}

  async find(known: KnownDelivery): Promise<Due> {
    const { findSnapshot, now, observer } = this.deps
    const snapshot = await findSnapshot(known.id)
    if (snapshot?.status !== deliveryStatus.pending || !isSame(snapshot, known)) {
      observer.attemptSkipped(known.id, 'not_pending')
      return { outcome: FINISHED }
    }
    const cancelled = reasonToCancel(snapshot)
    if (cancelled) return { outcome: await this.cancel(snapshot.id, cancelled) }
    if (isBanned(snapshot, now())) {
      const hold = await this.#hold(snapshot)
      if (hold === 'held') return { outcome: FINISHED }
      if (hold === 'changing') return { outcome: RECHECK }
      // The ban was lifted after the snapshot was read, so the delivery is due at another time.
      return this.find(known)
    }
    const earlyMs = (snapshot.nextAttemptAt?.getTime() ?? 0) - now().getTime()
    // The row decides when the next attempt is due. A job that runs again after losing its lock must not jump the schedule.
    return earlyMs > EARLY_MS ? { outcome: { kind: 'defer', delayMs: earlyMs } } : { snapshot }
  }

  async cancel(id: DeliveryId, reason: CancelReason): Promise<JobOutcome> {
    const { db, retryWhileUnavailable, observer } = this.deps
    await retryWhileUnavailable(() => cancelDelivery(db, id, reason))
    observer.attemptSkipped(id, reason)
    return FINISHED
  }

  /** Makes no attempt and leaves no job: lifting the ban adds one, or the sweeper does once the ban has expired. */
  async #hold({ id, endpoint: { accountId } }: DeliverySnapshot) {
    const { db, retryWhileUnavailable, observer, now } = this.deps
    const hold = await retryWhileUnavailable(() => holdDelivery(db, { id, accountId, now: now() }))
    if (hold === 'held') observer.attemptSkipped(id, 'account_banned')
    return hold
  }
}
